#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The oracle: the eight algorithms in plain Python, slow and obvious. The C++ in src/limit/algorithms and the
Lua in lua/algorithms must agree with it, step for step.

    reference.py trace --seed S --algorithm A --steps N [--evict]   prints a random trace, one JSON object a line
    reference.py admit                                              how many of some attempts pass, see ADMIT
    reference.py check [--seed S] [--steps N]                       proves the oracle's own promises
    import reference; reference.MODELS['gcra']                      the models, for other tests

A line of a trace is self-contained (no line needs an earlier one to be read):

    {"step": 0,             running number
     "key": 0,              a counter; a number not seen before = a counter that does not exist yet. Only the
                            newest one is ever used
     "op": "take",          see below
     "now": 1800000000000,  the store's clock, ms
     "limit": 10, "window_ms": 60000, "burst": 10, "max_wait_ms": 0, "cells": 0, "calendar": 0,   the terms
     "offset": 0,           fixed_window (rolling) and sliding_counter: 0 <= offset < window_ms
     "bounds": [0,0,0,0],   calendar only: ends and starts of three windows
     "owner": 0,            concurrency: whose slot (above 0)
     "cost": 1,
     "charged_at": 0, "delta": 0,   op settle
     "back": 0,                     op evict
     "want": {"within": 1, "limit": 10, "remaining": 9, "retry": 0, "reset": 6000, "wait": 0, "ttl": 7000}}

All numbers are integers; within is 1 or 0; retry is -1 for never. Within one key, window_ms, cells, calendar and
offset never change; limit, burst and max_wait_ms may (a reload). Products stay within 2^53.

    take     judge; if it passes, charge, and `want` is the verdict after the charge; if not, `want` is the
             judged verdict and only a repair is written. cost >= 1.
    peek     judge only; NOTHING is written, not even a repair. cost >= 0.
    settle   adds `delta` to what was charged at `charged_at` (which is some earlier `now`, or a time at random).
             The state rolled to `now` is written always, even if the refund itself is dropped
             (concurrency: nothing is written). `want` = a peek with cost 0 at the same `now`, afterwards.
    release  concurrency: the owner's slot is removed, if there; no other slot changes (none is repaired or
             dropped). `want` = a peek with cost 0, afterwards.
    renew    concurrency: the owner's slot lives until now + window_ms; re-added with count `cost` if it is gone
             or expired (expires <= now); no other slot changes. `want` = a peek with cost 0, afterwards.
    evict    (only with --evict) the counter is dropped at `now` and made again at `back` >= `now` from what it
             owed; `want` has also "used" and "until" (used 0, until 0: nothing owed); the rest of `want` = a
             peek with cost 0 at `back`, afterwards.

"ttl" is there only for a take that passed: the expiry a shared store gives the key, ms.
"""
import argparse
import bisect
import json
import random
import sys

NEVER = -1


def ceil_div(a, b):
    return -(-a // b)


class Terms:
    def __init__(self, limit, window_ms, burst=None, max_wait_ms=0, cells=0, calendar=0):
        self.limit, self.window_ms, self.burst = limit, window_ms, limit if burst is None else burst
        self.max_wait_ms, self.cells, self.calendar = max_wait_ms, cells, calendar


class Ask:
    """What varies from call to call."""

    def __init__(self, now, cost=1, offset=0, bounds=(0, 0, 0, 0), owner=0):
        self.now, self.cost, self.offset, self.bounds, self.owner = now, cost, offset, bounds, owner


def verdict(within, limit, remaining, retry, reset, wait=0):
    return {'within': int(within), 'limit': limit, 'remaining': remaining, 'retry': 0 if within else retry,
            'reset': reset, 'wait': wait if within else 0}


class Model:
    """A counter is a value made by fresh(); roll() returns it brought up to `now` and whether it was repaired."""

    def judge(self, state, terms, ask):
        rolled, repaired = self.roll(state, terms, ask)
        return self.read(rolled, terms, ask), repaired

    def take(self, state, terms, ask):
        """-> (new state, verdict)"""
        seen, repaired = self.judge(state, terms, ask)
        rolled, _ = self.roll(state, terms, ask)
        if not seen['within']:
            return (rolled if repaired else state), seen
        charged = self.charge(rolled, terms, ask)
        after = self.read(charged, terms, Ask(ask.now, 0, ask.offset, ask.bounds, ask.owner))
        after.update(within=1, retry=0, wait=seen['wait'], ttl=self.ttl(charged, terms, ask))
        return charged, after

    def settle(self, state, terms, ask, charged_at, delta):
        rolled, _ = self.roll(state, terms, ask)
        return self.adjust(rolled, terms, ask, charged_at, delta)

    def release(self, state, terms, ask):
        return state

    def renew(self, state, terms, ask):
        return state


class FixedWindow(Model):
    def fresh(self):
        return None  # or (ends, used)

    def window(self, terms, ask):
        """(start, end) of the window that holds `now`."""
        if not terms.calendar:
            start = (ask.now + ask.offset) // terms.window_ms * terms.window_ms - ask.offset
            return start, start + terms.window_ms
        which = 0
        while which < 2 and ask.now >= ask.bounds[which + 1]:
            which += 1
        return ask.bounds[which], ask.bounds[which + 1]

    def roll(self, state, terms, ask):
        _, end = self.window(terms, ask)
        if state is None or state[0] < end:
            return (end, 0), False
        newest = ask.bounds[3] if terms.calendar else end + terms.window_ms
        if state[0] <= newest:
            return state, False
        return (end, state[1]), True

    def read(self, state, terms, ask):
        ends, used = state
        left = ends - ask.now
        retry = NEVER if ask.cost > terms.limit else left
        return verdict(used + ask.cost <= terms.limit, terms.limit, max(0, terms.limit - used), retry,
                       left if used else 0)

    def charge(self, state, terms, ask):
        return state[0], state[1] + ask.cost

    def ttl(self, state, terms, ask):
        return state[0] - ask.now + 1000

    def adjust(self, state, terms, ask, charged_at, delta):
        start, end = self.window(terms, ask)
        if delta < 0 and charged_at < state[0] - (end - start):
            return state
        return state[0], max(0, state[1] + delta)

    def owed(self, state, terms, ask):
        if state is None or state[1] == 0 or state[0] <= ask.now:
            return 0, 0
        (ends, _), repaired = self.roll(state, terms, ask)
        return state[1], ends if repaired else state[0]

    def restore(self, terms, ask, used, until):
        return self.window(terms, ask)[1], used


class SlidingCounter(Model):
    def fresh(self):
        return None  # or (start of the window, previous count, current count)

    def roll(self, state, terms, ask):
        width = terms.window_ms
        start = (ask.now + ask.offset) // width * width - ask.offset
        if state is None:
            return (start, 0, 0), False
        gap = (start - state[0]) // width  # windows passed since
        if gap in (0, -1):
            return state, False
        if gap < -1:
            return (start, state[1], state[2]), True
        return (start, state[2] if gap == 1 else 0, 0), False

    def fits(self, state, terms, now, cost):
        start, prev, cur = state
        elapsed = min(max(now - start, 0), terms.window_ms - 1)
        return prev * (terms.window_ms - elapsed) + (cur + cost) * terms.window_ms <= terms.limit * terms.window_ms

    def read(self, state, terms, ask):
        start, prev, cur = state
        width, limit, cost = terms.window_ms, terms.limit, ask.cost
        elapsed = min(max(ask.now - start, 0), width - 1)
        estimate = prev * (width - elapsed) + cur * width
        # Until the weight of `cur` (or of `prev`) is gone. A clock behind the window waits for it to begin.
        ahead = max(0, start - ask.now)
        reset = ahead + 2 * width - elapsed if cur else (ahead + width - elapsed if prev else 0)
        within = estimate + cost * width <= limit * width
        return verdict(within, limit, max(0, (limit * width - estimate) // width),
                       NEVER if cost > limit else self.wait_for(state, terms, ask, ahead, elapsed), reset)

    def wait_for(self, state, terms, ask, ahead, elapsed):
        _, prev, cur = state
        width = terms.window_ms
        room = terms.limit - ask.cost - cur
        if room >= 0 and prev:
            need = width - room * width // prev
            if need < width:
                return ahead + need - elapsed
        later = 0
        if cur:
            later = max(0, width - (terms.limit - ask.cost) * width // cur)
        return ahead + width - elapsed + later

    def charge(self, state, terms, ask):
        return state[0], state[1], state[2] + ask.cost

    def ttl(self, state, terms, ask):
        return self.read(state, terms, ask)['reset'] + 1000

    def adjust(self, state, terms, ask, charged_at, delta):
        start, prev, cur = state
        if delta > 0 or charged_at >= start:
            return start, prev, max(0, cur + delta)
        if charged_at >= start - terms.window_ms:
            return start, max(0, prev + delta), cur
        return state

    def owed(self, state, terms, ask):
        (start, prev, cur), _ = self.roll(state, terms, ask)
        if prev + cur == 0:
            return 0, 0
        return prev + cur, start + terms.window_ms * (2 if cur else 1)

    def restore(self, terms, ask, used, until):
        (start, _, _), _ = self.roll(None, terms, ask)
        return (start, used, 0) if until <= start + terms.window_ms else (start, 0, used)


class SlidingWindow(Model):
    def fresh(self):
        return 0, {}  # newest cell, {cell: count}

    def width(self, terms):
        return ceil_div(terms.window_ms, terms.cells)

    def roll(self, state, terms, ask):
        top, cells = state
        cell = ask.now // self.width(terms)
        if cell >= top:
            return (cell, {k: v for k, v in cells.items() if k >= cell - terms.cells and v}), False
        if cell == top - 1:
            return state, False
        return (cell, {k - (top - cell): v for k, v in cells.items()}), True

    def read(self, state, terms, ask):
        top, cells = state
        width, limit = self.width(terms), terms.limit
        live = sorted((k, v) for k, v in cells.items() if v and k >= top - terms.cells)
        have = sum(v for _, v in live)
        retry, left = NEVER, have
        if ask.cost <= limit:
            for k, v in live:
                left -= v
                if left + ask.cost <= limit:
                    retry = (k + terms.cells + 1) * width - ask.now
                    break
        reset = (live[-1][0] + terms.cells + 1) * width - ask.now if live else 0
        return verdict(have + ask.cost <= limit, limit, max(0, limit - have), retry, reset)

    def charge(self, state, terms, ask):
        top, cells = state
        return top, {**cells, top: cells.get(top, 0) + ask.cost}

    def ttl(self, state, terms, ask):
        return (state[0] + terms.cells + 1) * self.width(terms) - ask.now + 1000

    def adjust(self, state, terms, ask, charged_at, delta):
        top, cells = state
        cell = top if delta > 0 else charged_at // self.width(terms)
        if not top - terms.cells <= cell <= top:
            return state
        return top, {**cells, cell: max(0, cells.get(cell, 0) + delta)}

    def owed(self, state, terms, ask):
        (top, cells), _ = self.roll(state, terms, ask)
        live = [k for k, v in cells.items() if v and k >= top - terms.cells]
        if not live:
            return 0, 0
        return sum(cells[k] for k in live), (max(live) + terms.cells + 1) * self.width(terms)

    def restore(self, terms, ask, used, until):
        width = self.width(terms)
        top = ask.now // width
        return top, {min(max(ceil_div(until, width) - terms.cells - 1, top - terms.cells), top): used}


class SlidingLog(Model):
    def fresh(self):
        return ()  # times, sorted

    def roll(self, state, terms, ask):
        ahead = bool(state) and state[-1] > ask.now
        return tuple(min(t, ask.now) for t in state if t > ask.now - terms.window_ms), ahead

    def read(self, state, terms, ask):
        n, limit, width = len(state), terms.limit, terms.window_ms
        retry = NEVER
        within = n + ask.cost <= limit
        if not within and ask.cost <= limit:
            retry = state[n + ask.cost - limit - 1] + width - ask.now
        return verdict(within, limit, max(0, limit - n), retry, state[-1] + width - ask.now if n else 0)

    def charge(self, state, terms, ask):
        return state + (ask.now,) * ask.cost

    def ttl(self, state, terms, ask):
        return terms.window_ms + 1000

    def adjust(self, state, terms, ask, charged_at, delta):
        if delta > 0:
            return state + (ask.now,) * delta
        first = bisect.bisect_left(state, charged_at)
        last = bisect.bisect_right(state, charged_at)
        return state[:first] + state[min(last, first - delta):]

    def owed(self, state, terms, ask):
        live, _ = self.roll(state, terms, ask)
        return (len(live), live[-1] + terms.window_ms) if live else (0, 0)

    def restore(self, terms, ask, used, until):
        # More than `limit` entries of one moment say no more than `limit` of them.
        return (min(ask.now, until - terms.window_ms),) * min(used, terms.limit)


class TokenBucket(Model):
    """Level in units: one token is window_ms units, `limit` units come back each ms."""

    def fresh(self):
        return None  # or (level, when, burst then)

    def queue(self, terms):
        return 0  # permits that may be taken in advance

    def roll(self, state, terms, ask):
        unit, cap = terms.window_ms, terms.burst * terms.window_ms
        if state is None:
            return (cap, ask.now, terms.burst), False
        level, when, burst = state
        if burst != terms.burst:
            level = min(cap, max(level + (terms.burst - burst) * unit, min(level, 0)))
        if ask.now < when:
            return (level, ask.now, terms.burst), True
        return (min(cap, level + (ask.now - when) * terms.limit), ask.now, terms.burst), False

    def read(self, state, terms, ask):
        level, unit, cap = state[0], terms.window_ms, terms.burst * terms.window_ms
        queue = self.queue(terms)
        after = level - ask.cost * unit
        retry = NEVER if ask.cost > terms.burst + queue else ceil_div(-after - queue * unit, terms.limit)
        return verdict(after >= -queue * unit, terms.limit, max(0, level // unit), retry,
                       ceil_div(cap - level, terms.limit), ceil_div(max(0, -after), terms.limit))

    def charge(self, state, terms, ask):
        return state[0] - ask.cost * terms.window_ms, ask.now, terms.burst

    def ttl(self, state, terms, ask):
        return ceil_div(terms.burst * terms.window_ms - state[0], terms.limit) + 1000

    def adjust(self, state, terms, ask, charged_at, delta):
        cap = terms.burst * terms.window_ms
        lowest = -(cap + self.queue(terms) * terms.window_ms)
        return min(cap, max(lowest, state[0] - delta * terms.window_ms)), ask.now, terms.burst

    def owed(self, state, terms, ask):
        (level, _, _), _ = self.roll(state, terms, ask)
        missing = terms.burst * terms.window_ms - level
        if missing <= 0:
            return 0, 0
        return ceil_div(missing, terms.window_ms), ask.now + ceil_div(missing, terms.limit)

    def restore(self, terms, ask, used, until):
        missing = min(used * terms.window_ms, (until - ask.now) * terms.limit)
        return terms.burst * terms.window_ms - missing, ask.now, terms.burst


class LeakyBucket(TokenBucket):
    def queue(self, terms):
        return terms.max_wait_ms * terms.limit // terms.window_ms


class Gcra(Model):
    """Debt in the same units; stored as the ms in which it is paid, and the rest."""

    def fresh(self):
        return None  # or (tat_ms, fraction, limit then, when)

    def debt(self, state, terms, now):
        if state is None:
            return 0
        return max(0, (state[0] - max(now, state[3])) * state[2] + state[1])

    def pack(self, debt, terms, now):
        return now + debt // terms.limit, debt % terms.limit, terms.limit, now

    def roll(self, state, terms, ask):
        # The clock stepped back: nothing drained meanwhile. A debt above a lowered burst stays as it is.
        back = state is not None and ask.now < state[3]
        return self.pack(self.debt(state, terms, ask.now), terms, ask.now), back

    def read(self, state, terms, ask):
        unit, cap = terms.window_ms, terms.burst * terms.window_ms
        debt = self.debt(state, terms, ask.now)
        over = debt + ask.cost * unit - cap
        return verdict(over <= 0, terms.limit, max(0, (cap - debt) // unit),
                       NEVER if ask.cost > terms.burst else ceil_div(over, terms.limit), ceil_div(debt, terms.limit))

    def charge(self, state, terms, ask):
        return self.pack(self.debt(state, terms, ask.now) + ask.cost * terms.window_ms, terms, ask.now)

    def ttl(self, state, terms, ask):
        return ceil_div(self.debt(state, terms, ask.now), terms.limit) + 1000

    def adjust(self, state, terms, ask, charged_at, delta):
        cap = terms.burst * terms.window_ms
        before = self.debt(state, terms, ask.now)
        after = min(max(cap, before), max(0, before + delta * terms.window_ms))
        return self.pack(after, terms, ask.now)

    def owed(self, state, terms, ask):
        debt = self.debt(self.roll(state, terms, ask)[0], terms, ask.now)
        return (ceil_div(debt, terms.window_ms), ask.now + ceil_div(debt, terms.limit)) if debt else (0, 0)

    def restore(self, terms, ask, used, until):
        debt = min(used * terms.window_ms, (until - ask.now) * terms.limit, terms.burst * terms.window_ms)
        return self.pack(debt, terms, ask.now)


class Concurrency(Model):
    def fresh(self):
        return {}  # owner: (count, expires)

    def roll(self, state, terms, ask):
        latest = ask.now + terms.window_ms
        live = {o: (n, min(e, latest)) for o, (n, e) in state.items() if e > ask.now}
        return live, any(e > latest for _, e in state.values())

    def read(self, state, terms, ask):
        busy = sum(n for n, _ in state.values())
        reset = max(e for _, e in state.values()) - ask.now if busy else 0
        return verdict(busy + ask.cost <= terms.limit, terms.limit, max(0, terms.limit - busy),
                       NEVER if ask.cost > terms.limit else 1000, reset)

    def charge(self, state, terms, ask):
        count = state.get(ask.owner, (0, 0))[0] + ask.cost
        return {**state, ask.owner: (count, ask.now + terms.window_ms)}

    def ttl(self, state, terms, ask):
        return terms.window_ms + 1000

    def settle(self, state, terms, ask, charged_at, delta):
        return state

    def release(self, state, terms, ask):
        return {o: slot for o, slot in state.items() if o != ask.owner}

    def renew(self, state, terms, ask):
        count, expires = state.get(ask.owner, (0, 0))
        return {**state, ask.owner: (count if expires > ask.now else ask.cost, ask.now + terms.window_ms)}

    def owed(self, state, terms, ask):
        live, _ = self.roll(state, terms, ask)
        busy = sum(n for n, _ in live.values())
        return (busy, max(e for _, e in live.values())) if busy else (0, 0)

    def restore(self, terms, ask, used, until):
        return {0: (used, until)}


MODELS = {'fixed_window': FixedWindow(), 'sliding_window': SlidingWindow(), 'sliding_counter': SlidingCounter(),
          'sliding_log': SlidingLog(), 'token_bucket': TokenBucket(), 'gcra': Gcra(), 'leaky_bucket': LeakyBucket(),
          'concurrency': Concurrency()}


# ------------------------------------------------------------------------------------------------ traces
HOUR = 3_600_000
WINDOWS = (1000, 1001, 1500, 7000, 60_000, 60_000, 600_007, HOUR, 24 * HOUR, 31 * 24 * HOUR)


class Walk:
    """One counter's life under random traffic."""

    def __init__(self, rng, algorithm, key):
        self.rng, self.algorithm, self.key = rng, algorithm, key
        self.model = MODELS[algorithm]
        self.terms = self.first_terms()
        self.offset = 0
        if algorithm in ('fixed_window', 'sliding_counter') and not self.terms.calendar:
            self.offset = rng.choice((0, rng.randrange(self.terms.window_ms)))
        self.now = 1_795_000_000_000 + rng.randrange(10 ** 9)
        self.edges = self.calendar_edges() if self.terms.calendar else None
        self.state = self.model.fresh()
        self.charges = []

    def a_limit(self):
        if self.algorithm in ('sliding_log', 'concurrency'):
            return self.rng.choice((1, 2, 3, 10, self.rng.randrange(1, 40)))
        return self.rng.choice((1, 2, 3, 10, self.rng.randrange(1, 60), self.rng.randrange(1, 50_000)))

    def a_burst(self, limit):
        if self.algorithm not in ('token_bucket', 'gcra', 'leaky_bucket'):
            return limit
        return self.rng.choice((limit, limit, 1, self.rng.randrange(1, 2 * limit + 2)))

    def a_max_wait(self, window_ms):
        if self.algorithm != 'leaky_bucket':
            return 0
        return self.rng.choice((0, self.rng.randrange(5000), self.rng.randrange(2 * min(window_ms, HOUR))))

    def first_terms(self):
        rng = self.rng
        calendar = int(self.algorithm == 'fixed_window' and rng.random() < 0.3)
        window = 24 * HOUR if calendar else rng.choice(WINDOWS)
        limit = self.a_limit()
        cells = rng.choice((2, 3, 7, 10, 10, 100)) if self.algorithm == 'sliding_window' else 0
        return Terms(limit, window, self.a_burst(limit), self.a_max_wait(window), cells, calendar)

    def calendar_edges(self):
        edges, t = [], self.now - 60 * 31 * 24 * HOUR
        long = self.rng.random() < 0.3
        while t < self.now + 600 * 31 * 24 * HOUR:
            edges.append(t)
            t += HOUR * (24 * self.rng.choice((28, 30, 31)) if long else self.rng.choice((23, 24, 24, 24, 25)))
        return edges

    def bounds(self, now):
        """As a gateway sees it whose clock may be a window off."""
        if self.edges is None:
            return [0, 0, 0, 0]
        at = bisect.bisect_right(self.edges, now) - 1
        at -= self.rng.choice((0, 1, 1, 1, 1, 1, 1, 1, 2))
        if self.rng.random() < 0.01:
            at += 1  # now is below bounds[0] or in the first one
        return self.edges[at:at + 4]

    def move_time(self):
        rng, width = self.rng, self.terms.window_ms
        kind = rng.random()
        if kind < 0.5:
            step = 0
        elif kind < 0.75:
            step = rng.randrange(2 * width // self.terms.limit + 2)
        elif kind < 0.90:
            step = rng.randrange(width // 4 + 1)
        elif kind < 0.95:
            step = rng.randrange(width + 2)
        elif kind < 0.97:
            step = rng.randrange(6 * width)
        elif kind < 0.99:
            step = -rng.randrange(1, width // 8 + 2)
        else:
            step = -rng.randrange(1, 5 * width)
        if step == 0 and kind < 0.002:  # exactly at an edge of the windows of this key
            step = width - (self.now + self.offset) % width
        self.now += step

    def a_cost(self):
        rng, most = self.rng, max(self.terms.limit, self.terms.burst)
        kind = rng.random()
        if kind < 0.55:
            return 1
        if kind < 0.75:
            return rng.randrange(1, 4)
        if kind < 0.92:
            return rng.randrange(1, most // rng.choice((1, 2, 5)) + 2)
        return most + rng.randrange(1, most + 3) if kind < 0.95 else most

    def reload(self):
        limit = self.rng.choice((self.a_limit(), max(1, self.terms.limit + self.rng.randrange(-3, 4))))
        self.terms = Terms(limit, self.terms.window_ms, self.a_burst(limit), self.a_max_wait(self.terms.window_ms),
                           self.terms.cells, self.terms.calendar)

    def step(self, evict):
        rng = self.rng
        self.move_time()
        if rng.random() < 0.02:
            self.reload()
        owner = rng.randrange(1, 12) if self.algorithm == 'concurrency' else 0
        ask = Ask(self.now, self.a_cost(), self.offset, self.bounds(self.now), owner)
        line = {'op': 'take', 'charged_at': 0, 'delta': 0, 'back': 0}
        kind = rng.random()
        if kind < 0.08:
            self.do_settle(line, ask)
        elif kind < 0.16:
            self.do_peek(line, ask)
        elif kind < 0.18 and evict:
            self.do_evict(line, ask)
        elif kind < 0.45 and self.algorithm == 'concurrency':
            line['op'] = rng.choice(('release', 'release', 'renew'))
            self.state = getattr(self.model, line['op'])(self.state, self.terms, ask)
            line['want'] = self.peek_free(ask)
        else:
            self.state, line['want'] = self.model.take(self.state, self.terms, ask)
            if line['want']['within']:
                self.charges.append(self.now)
        terms = self.terms
        line.update(key=self.key, now=line.pop('at', ask.now), cost=ask.cost, limit=terms.limit,
                    window_ms=terms.window_ms, burst=terms.burst, max_wait_ms=terms.max_wait_ms, cells=terms.cells,
                    calendar=terms.calendar, offset=ask.offset, bounds=ask.bounds, owner=owner)
        return line

    def peek_free(self, ask):
        free = Ask(ask.now, 0, ask.offset, ask.bounds, ask.owner)
        return self.model.judge(self.state, self.terms, free)[0]

    def do_peek(self, line, ask):
        line['op'] = 'peek'
        ask.cost = self.rng.choice((0, 0, ask.cost))
        line['want'] = self.model.judge(self.state, self.terms, ask)[0]

    def do_settle(self, line, ask):
        rng = self.rng
        charged_at = ask.now - rng.randrange(2 * self.terms.window_ms)
        if self.charges and rng.random() < 0.8:
            charged_at = rng.choice(self.charges[-5:])
        delta = rng.choice((-1, 1, -2, 2, rng.randrange(-self.terms.limit, self.terms.limit + 1)))
        line.update(op='settle', charged_at=charged_at, delta=delta)
        self.state = self.model.settle(self.state, self.terms, ask, charged_at, delta)
        line['want'] = self.peek_free(ask)

    def do_evict(self, line, ask):
        used, until = self.model.owed(self.state, self.terms, ask)
        line.update(op='evict', at=ask.now)
        if self.rng.random() < 0.5:
            self.now += self.rng.randrange(self.terms.window_ms // 3 + 1)
        back = Ask(self.now, 0, ask.offset, ask.bounds, ask.owner)
        line['back'] = back.now
        self.state = self.model.fresh()
        if used and until > back.now:
            self.state = self.model.restore(self.terms, back, used, until)
        line['want'] = dict(self.peek_free(back), used=used, until=until)


def trace(algorithm, seed, steps, evict=False):
    """Yields `steps` lines (dictionaries)."""
    rng = random.Random('%s %s' % (algorithm, seed))
    walk, left, key = None, 0, -1
    for number in range(steps):
        if left == 0:
            key += 1
            walk, left = Walk(rng, algorithm, key), rng.randrange(20, 300)
        left -= 1
        line = walk.step(evict)
        line['step'] = number
        yield line


# ------------------------------------------------------------------------------------------------ admission
ADMIT = """admit prints `algorithm limit situation passed` for 200 attempts of cost 1 each, 7 ms apart, on a counter
of window 60000 ms, burst = limit, 10 cells, max_wait 30000 ms, offset 12345 (fixed_window, sliding_counter), each
attempt by an owner of its own (numbered from 1):
    cold   the first at 1800000000000
    edge   the first 700 ms before a window ends, 1800000047655 - 700
    idle   200 uncounted attempts from 1800000000000, then the counted ones three windows after the last of them"""


def admit(algorithm, limit, situation):
    offset = 12345 if algorithm in ('fixed_window', 'sliding_counter') else 0
    model, terms = MODELS[algorithm], Terms(limit, 60_000, limit, 30_000, 10)
    starts = {'cold': [1_800_000_000_000], 'edge': [1_800_000_047_655 - 700],
              'idle': [1_800_000_000_000, 1_800_000_000_000 + 199 * 7 + 180_000]}[situation]
    state, owner = model.fresh(), 0
    for start in starts:
        passed = 0
        for n in range(200):
            owner += 1
            state, seen = model.take(state, terms, Ask(start + 7 * n, 1, offset, owner=owner))
            passed += seen['within']
    return passed


# ------------------------------------------------------------------------------------------------ promises
def promises(algorithm, seed, steps):
    """retry_after is the smallest wait that passes; after reset_ms the counter equals a fresh one."""
    rng = random.Random('promises %s %s' % (algorithm, seed))
    model, checked, key = MODELS[algorithm], 0, 0
    while checked < steps:
        walk = Walk(rng, algorithm, key)
        key += 1
        for _ in range(rng.randrange(20, 200)):
            walk.step(False)
            ask = Ask(walk.now, walk.a_cost(), walk.offset, walk.bounds(walk.now), 99)
            seen = model.judge(walk.state, walk.terms, ask)[0]
            top = max(walk.terms.limit, walk.terms.burst)
            assert 0 <= seen['remaining'] <= top, (algorithm, seed, seen)
            if algorithm == 'concurrency' or walk.terms.calendar:
                continue
            checked += 1
            state, _ = model.roll(walk.state, walk.terms, ask)

            def passes(after):
                later = Ask(ask.now + after, ask.cost, ask.offset, ask.bounds, 99)
                return model.judge(state, walk.terms, later)[0]['within']
            if seen['retry'] > 0:
                assert passes(seen['retry']), (algorithm, seed, 'still refused', vars(ask), vars(walk.terms), seen)
                assert not passes(seen['retry'] - 1), (algorithm, seed, 'not minimal', vars(ask), seen)
            idle = Ask(ask.now + seen['reset'], 0, ask.offset, ask.bounds, 99)
            rest = model.judge(state, walk.terms, idle)[0]
            assert rest['reset'] == 0, (algorithm, seed, 'not reset', vars(ask), vars(walk.terms), seen, rest)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    commands = parser.add_subparsers(dest='command', required=True)
    commands.add_parser('admit', description=ADMIT)
    tracing = commands.add_parser('trace')
    tracing.add_argument('--algorithm', required=True, choices=sorted(MODELS))
    tracing.add_argument('--evict', action='store_true')
    checking = commands.add_parser('check')
    for command in (tracing, checking):
        command.add_argument('--seed', default='1')
        command.add_argument('--steps', type=int, default=10_000)
    asked = parser.parse_args()
    if asked.command == 'admit':
        for algorithm in sorted(MODELS):
            for limit in (1, 2, 3, 10):
                for situation in ('cold', 'edge', 'idle'):
                    print(algorithm, limit, situation, admit(algorithm, limit, situation))
        return 0
    if asked.command == 'check':
        for algorithm in sorted(MODELS):
            if algorithm != 'concurrency':
                promises(algorithm, asked.seed, asked.steps)
        return 0
    encode = json.JSONEncoder(separators=(',', ':')).encode
    try:
        for line in trace(asked.algorithm, asked.seed, asked.steps, asked.evict):
            print(encode(line))
    except BrokenPipeError:
        sys.stderr.close()
    return 0


if __name__ == '__main__':
    sys.exit(main())
