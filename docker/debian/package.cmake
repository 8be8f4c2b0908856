# SPDX-License-Identifier: Apache-2.0
# The Debian package: `cpack -G DEB --config BUILD/CPackConfig.cmake`, or `ninja package`.
set(files ${CMAKE_CURRENT_LIST_DIR}/..)
install(TARGETS weir RUNTIME DESTINATION bin)
install(FILES ${files}/config/package/weir.yaml ${files}/config/package/quotas.yaml DESTINATION /etc/weir)
install(FILES ${files}/systemd/weir.service ${files}/systemd/weir.socket DESTINATION /lib/systemd/system)
install(FILES ${files}/logrotate/weir DESTINATION /etc/logrotate.d)
install(FILES ${files}/debian/copyright ${PROJECT_SOURCE_DIR}/README.md DESTINATION share/doc/weir)
# In the folders that they have here, so that what one names is found beside it.
set(pages ${PROJECT_SOURCE_DIR}/config)
install(FILES ${pages}/README.md ${pages}/HANDBOOK.md ${pages}/weir.schema.json ${pages}/quotas.schema.json
  DESTINATION share/doc/weir/config)
install(DIRECTORY ${pages}/pictures ${pages}/examples DESTINATION share/doc/weir/config)
install(FILES ${files}/README.md ${files}/runbook.md DESTINATION share/doc/weir/docker)
install(DIRECTORY ${files}/prometheus ${files}/grafana DESTINATION share/weir)

# Debian wants a compressed changelog and a manual page; both are the same at each build.
find_program(GZIP gzip REQUIRED)
foreach(page changelog weir.1)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/${page}.gz DEPENDS ${files}/debian/${page}
    COMMAND ${GZIP} -9nc ${files}/debian/${page} > ${PROJECT_BINARY_DIR}/${page}.gz)
endforeach()
add_custom_target(package_pages ALL DEPENDS ${PROJECT_BINARY_DIR}/changelog.gz ${PROJECT_BINARY_DIR}/weir.1.gz)
install(FILES ${PROJECT_BINARY_DIR}/changelog.gz DESTINATION share/doc/weir)
install(FILES ${PROJECT_BINARY_DIR}/weir.1.gz DESTINATION share/man/man1)

set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "weir maintainers <weir@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "HTTP gateway with hierarchical rate limiting")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Keeps the damage of an over-user in the smallest box: one user, one API,\n one caller, and only at last the whole node. Counts in memory or in Redis.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION httpd)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "redis-server, prometheus, logrotate")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_LIST_DIR}/conffiles ${CMAKE_CURRENT_LIST_DIR}/postinst ${CMAKE_CURRENT_LIST_DIR}/prerm
  ${CMAKE_CURRENT_LIST_DIR}/postrm)
include(CPack)
