# SPDX-License-Identifier: Apache-2.0
"""A strict reader of RFC 9651 structured fields: lists, dictionaries, items, parameters. Anything the RFC
does not allow raises ValueError, so that a field the gateway sends is proven well formed."""
import re

_KEY = re.compile(r"[a-z*][a-z0-9_\-.*]*")
_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*")
_NUMBER = re.compile(r"-?(\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])")


class Token(str):
    pass


class Item:
    def __init__(self, value, parameters):
        self.value, self.parameters = value, parameters

    def __repr__(self):
        return f"{self.value!r};{self.parameters}"


class _Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def fail(self, why):
        raise ValueError(f"{why} at {self.at} of {self.text!r}")

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self, char):
        if self.peek() != char:
            self.fail(f"{char!r} expected")
        self.at += 1

    def match(self, pattern, what):
        found = pattern.match(self.text, self.at)
        if not found:
            self.fail(f"{what} expected")
        self.at = found.end()
        return found[0]

    def spaces(self, chars=" "):
        while self.peek() and self.peek() in chars:
            self.at += 1

    def string(self):
        self.take('"')
        out = ""
        while (char := self.peek()) != '"':
            if not char or not " " <= char <= "~":
                self.fail("bad string")
            self.at += 1
            if char == "\\":
                char = self.peek()
                if not char or char not in '"\\':
                    self.fail("bad escape")
                self.at += 1
            out += char
        self.at += 1
        return out

    def bare(self):
        char = self.peek()
        if char == '"':
            return self.string()
        if char == "?":
            self.at += 1
            if not self.peek() or self.peek() not in "01":
                self.fail("boolean expected")
            self.at += 1
            return self.text[self.at - 1] == "1"
        if char == "-" or char.isdigit():
            text = self.match(_NUMBER, "number")
            return float(text) if "." in text else int(text)
        return Token(self.match(_TOKEN, "token"))

    def parameters(self):
        out = {}
        while self.peek() == ";":
            self.at += 1
            self.spaces()
            key = self.match(_KEY, "key")
            out[key] = True
            if self.peek() == "=":
                self.at += 1
                out[key] = self.bare()
        return out

    def item(self):
        if self.peek() == "(":
            return self.inner_list()
        value = self.bare()
        return Item(value, self.parameters())

    def inner_list(self):
        self.take("(")
        items = []
        while True:
            self.spaces()
            if self.peek() == ")":
                self.at += 1
                return Item(items, self.parameters())
            items.append(self.item())
            if not self.peek() or self.peek() not in " )":
                self.fail("space or ) expected")

    def members(self, one):
        out = []
        self.spaces()
        while self.peek():
            out.append(one())
            self.spaces(" \t")
            if not self.peek():
                return out
            self.take(",")
            self.spaces(" \t")
            if not self.peek():
                self.fail("trailing comma")
        return out

    def member(self):
        key = self.match(_KEY, "key")
        if self.peek() == "=":
            self.at += 1
            return key, self.item()
        return key, Item(True, self.parameters())


def parse_list(text):
    reader = _Reader(text)
    return reader.members(reader.item)


def parse_dictionary(text):
    reader = _Reader(text)
    return dict(reader.members(reader.member))


def parse_item(text):
    reader = _Reader(text)
    reader.spaces()
    item = reader.item()
    reader.spaces()
    if reader.peek():
        reader.fail("end expected")
    return item
