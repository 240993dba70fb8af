"""LLVM text of the functions that threads need: taking chunks, a barrier, a pool, the entries.

The text is a module of its own, or is appended to the model's. No library is called: a thread waits
by a spin, then by a futex system call of Linux. `compiler/llvm/processors` has the functions by
which one kind of processor spins, sleeps and counts time. The text here is the same for all.

    int64_t ncc_take(void *state, int64_t begin, int64_t chunks, int64_t tid, int64_t threads)
                                                     first + (last << 32) of chunks to do
    void ncc_barrier(void *state, int64_t did, int64_t until, int64_t threads)
                                                     wait for chunks; at once for one thread
    void ncc_end(void *state, int64_t did, int64_t until, int64_t tid, int64_t threads)
                                                     only thread 0 waits
    void ncc_run_alone(void **buffers)               run(buffers, 0, 1, before) in this thread
    void ncc_launch(void *pool, void **buffers)      run on the pool; this thread is number 0
    void ncc_worker(void *pool, int64_t tid)         the whole life of thread tid > 0 of a pool
    void ncc_stop(void *pool)                        lets the workers return

Every thread takes denormal numbers for zeros while it is inside `run`, and has its own mode after
it.

State (buffers[0]), aligned to 64; its maker fills it with zeros, once:
    i64 +0 done, i32 +8 sleepers
    i64 +64 + 64 tid: the word of a thread's share, up to which it is taken
Pool, aligned to 64; its maker (ncc.runtime.threads) fills it with zeros, but the three counts:
    i64 +0 launches, i32 +8 sleepers, i32 +12 stop
    i64 +16 threads, i64 +24 buffers, i64 +32 numbers (of buffers[3], if the network has some)
    i64 +64 version: twice the number of messages, and one more while one is written
    +128 the message of a launch: i64 before, the array of buffers, the numbers
         then a copy of it for each thread of the pool but the caller, from multiples of 64

Time is the number of chunks of all runs with this state. It only grows: a launch of n chunks takes
it from `begin` to begin + n. So no word is ever cleared. A machine needs centuries for 64 bits of
chunks, so no word wraps around.

    run        begins at `before`, the value of `done` when its caller came, and is over at `until`
    share      of thread t: begin + n t / threads to begin + n (t + 1) / threads. It is taken up to
               its word; a smaller word counts as the beginning of the share
    done       at a barrier, a thread adds the chunks that it has done since its last barrier
    barrier    waits for done >= until, the chunks of all launches before it

Each chunk is done once. The words of shares only grow, by compare and swap. A thread goes on to a
launch after it has seen that all shares of the launch before are taken. A word at the end of a
share is no larger than the beginning of this share in the next launch. So a thread that finds a
word below the beginning may begin the share, and a thread that finds it at the end or above leaves
the share.

No thread waits for a thread that does not come. Threads wait for chunks, and a thread without
chunks has nothing that others need. It may come late, in the middle of a later run or between two
runs. So a worker copies the message of a launch. If the version has changed meanwhile, the copy may
be of two launches: the worker goes back to wait, for the launch that has changed it. Else it has
all that one run was told: when it begins, the addresses, the numbers that depend on shapes. If this
run is over, all words are past its shares and `done` is past every `until`, so the thread walks
through to the end and writes nothing. Else it takes part. If it takes a chunk, the run is not over
before this chunk is counted, and the caller's memory is there as long. A late thread reads only the
code, the pool and the state, which live as long as the workers.

Chunks see what other chunks stored. A thread adds to `done` after the stores of its chunks
(release). A thread that leaves a barrier has read a sum that contains these chunks (acquire). The
additions in between are read-modify-writes, which keep the release of the earlier ones. The caller,
too, returns after such a wait. It hands on its inputs by `version`.

No thread sleeps through a wake. A waiter first counts itself as a sleeper, then reads the word once
more, and lets the kernel compare the lower half with the value that it has read. A waker first
changes the word, and then reads the count. All four accesses are sequentially consistent, so at
least one of the two sees the other. Different words have different lower halves here: a word on
which a thread sleeps is less than 2^31, the chunks of a run, before its goal. Only a thread that
reaches the goal wakes others: all threads that wait on `done` at one time have the same goal, since
no thread is at the next barrier before this goal is reached.

Orders of memory. x86-64 keeps most of them anyway, ARM none that is not asked for. Each atomic
access has the order that the arguments above need, and no other:

    done, add       seq_cst: its release half publishes the results of chunks, and what this thread
                    has read for them; it precedes the load of `sleepers`, as a waker's change must
    wait, spin      acquire: the results of all chunks that `done` counts
    wait, look      seq_cst: acquire as well, and after the count of this sleeper
    sleepers, add   seq_cst: before the look
    sleepers, load  seq_cst: after the change of the word
    sleepers, sub   relaxed: a count that is too high costs a system call
    launches, add   seq_cst: as for `done`; its release half publishes `stop`
    launches, load  acquire: pairs with that
    stop            relaxed: the launch after it makes a worker look
    version, odd    relaxed, and a release fence behind it; `again` relaxed, and an acquire fence in
                    front of it. A worker that has copied a word of a message sees that this message
                    was begun
    version, even   release: the message, and the caller's inputs
    version, load   acquire: pairs with that
    message, copy   relaxed: words may be of two messages, and the version tells
    done, begin     relaxed: runs come one after another, and callers know that by other means
    share, glimpse  relaxed: an old value is smaller than the present one, and the swap fails with
                    it; a value at the end of the share is final
    share, swap     relaxed: a read-modify-write reads the latest value, so no chunk is taken twice.
                    Results do not travel by shares

A test tries all executions that ARM allows of each argument, with these orders and with each of
them weakened, which must go wrong (tests/compiler/llvm/test_memory_orders.py).

The kernel reads the word of a futex under a lock that also a waker takes, behind a full barrier. A
single thread (`threads` is 1) uses plain accesses for its share: nobody else has this state.
"""

from __future__ import annotations

from ncc.compiler.llvm.processors.find import processor_of
from ncc.compiler.target import Target
from ncc.runtime.artifact import NUMBERS_BUFFER
from ncc.runtime.threads import MESSAGE, POOL_BUFFERS, POOL_NUMBERS, POOL_THREADS, POOL_VERSION

# Ticks of the time-stamp counter to spin before sleeping: 25-50 us at 2-4 GHz. That is longer than
# a barrier between kernels if all threads have a core, and too short to show up as load.
SPIN_TICKS = 100_000

# The same for workers between runs: long enough for the caller to prepare the next run, since a
# wake takes longer than the kernels of a small network.
IDLE_TICKS = 1_000_000

_NUMBERS = {
    "SPIN_TICKS": SPIN_TICKS,
    "IDLE_TICKS": IDLE_TICKS,
    "POOL_THREADS": POOL_THREADS,
    "POOL_BUFFERS": POOL_BUFFERS,
    "POOL_NUMBERS": POOL_NUMBERS,
    "POOL_VERSION": POOL_VERSION,
    "MESSAGE": MESSAGE,
    "NUMBERS_AT": 8 * NUMBERS_BUFFER,
}
"""The constants that the text below names."""

_WAIT = """
; Returns once *word >= %goal; spins for %patience ticks before it sleeps. %word + 8: sleepers.
define internal void @ncc.wait_until(ptr %word, i64 %goal, i64 %patience) nounwind noinline {
entry:
  %limit = call i64 @ncc.patience(i64 %patience)
  %start = call i64 @ncc.ticks()
  br label %spin
spin:
  %spun = load atomic i64, ptr %word acquire, align 8
  %there = icmp sge i64 %spun, %goal
  br i1 %there, label %done, label %pause
pause:
  call void @ncc.pause()
  %now = call i64 @ncc.ticks()
  %ticks = sub i64 %now, %start
  %early = icmp ult i64 %ticks, %limit
  br i1 %early, label %spin, label %sleep
sleep:
  %sleepers = getelementptr i8, ptr %word, i64 8
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst
  br label %look
look:
  %seen = load atomic i64, ptr %word seq_cst, align 8
  %risen = icmp sge i64 %seen, %goal
  br i1 %risen, label %rise, label %doze
doze:
  %half = trunc i64 %seen to i32
  call void @ncc.futex_wait(ptr %word, i32 %half)
  br label %look
rise:
  %after = atomicrmw sub ptr %sleepers, i32 1 monotonic
  ret void
done:
  ret void
}

; Wakes all sleepers. The caller has changed *word before.
define internal void @ncc.wake_sleepers(ptr %word) nounwind {
  %sleepers = getelementptr i8, ptr %word, i64 8
  %count = load atomic i32, ptr %sleepers seq_cst, align 4
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %wake
wake:
  call void @ncc.futex_wake(ptr %word)
  ret void
done:
  ret void
}
"""

_BARRIER = """
; Adds the chunks that this thread has done, and wakes the others at the goal.
define internal void @ncc.add_done(ptr %done, i64 %did, i64 %until) nounwind {
entry:
  %nothing = icmp eq i64 %did, 0
  br i1 %nothing, label %leave, label %add
add:
  %before = atomicrmw add ptr %done, i64 %did seq_cst
  %now = add i64 %before, %did
  %all = icmp sge i64 %now, %until
  br i1 %all, label %tell, label %leave
tell:
  call void @ncc.wake_sleepers(ptr %done)
  ret void
leave:
  ret void
}

define void @ncc_barrier(ptr %state, i64 %did, i64 %until, i64 %threads) nounwind {
entry:
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %leave, label %wait
wait:
  call void @ncc.add_done(ptr %state, i64 %did, i64 %until)
  call void @ncc.wait_until(ptr %state, i64 %until, i64 SPIN_TICKS)
  ret void
leave:
  ret void
}

define void @ncc_end(ptr %state, i64 %did, i64 %until, i64 %tid, i64 %threads) nounwind {
entry:
  %first = icmp eq i64 %tid, 0
  br i1 %first, label %wait, label %leave
wait:
  call void @ncc_barrier(ptr %state, i64 %did, i64 %until, i64 %threads)
  ret void
leave:
  call void @ncc.add_done(ptr %state, i64 %did, i64 %until)
  ret void
}
"""

_TAKE = """
define i64 @ncc_take(ptr %state, i64 %begin, i64 %chunks, i64 %tid, i64 %threads) nounwind {
entry:
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %single, label %share
single:
  %only = getelementptr i8, ptr %state, i64 64
  %before = load i64, ptr %only, align 64
  %end = add i64 %begin, %chunks
  %is.over = icmp sge i64 %before, %end
  store i64 %end, ptr %only, align 64
  %whole = shl i64 %chunks, 32
  %rest = select i1 %is.over, i64 0, i64 %whole
  ret i64 %rest
share:
  %passed = phi i64 [ 0, %entry ], [ %more, %taken ]
  %whose.unwrapped = add i64 %tid, %passed
  %whose = urem i64 %whose.unwrapped, %threads
  %whose.next = add i64 %whose, 1
  %low = mul i64 %chunks, %whose
  %high = mul i64 %chunks, %whose.next
  %low.share = udiv i64 %low, %threads
  %high.share = udiv i64 %high, %threads
  %first = add i64 %begin, %low.share
  %last = add i64 %begin, %high.share
  %line = shl i64 %whose.next, 6
  %word = getelementptr i8, ptr %state, i64 %line
  %glimpse = load atomic i64, ptr %word monotonic, align 64
  br label %look
look:
  %seen = phi i64 [ %glimpse, %share ], [ %found, %try ]
  %is.begun = icmp sgt i64 %seen, %first
  %next = select i1 %is.begun, i64 %seen, i64 %first
  %left = sub i64 %last, %next
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %try, label %taken
try:
  %rounded = add i64 %left, 1
  %half = lshr i64 %rounded, 1
  %until = add i64 %next, %half
  %swap = cmpxchg ptr %word, i64 %seen, i64 %until monotonic monotonic, align 64
  %found = extractvalue { i64, i1 } %swap, 0
  %mine = extractvalue { i64, i1 } %swap, 1
  br i1 %mine, label %done, label %look
taken:
  %more = add i64 %passed, 1
  %all = icmp eq i64 %more, %threads
  br i1 %all, label %nothing, label %share
done:
  %from = sub i64 %next, %begin
  %to = sub i64 %until, %begin
  %upper = shl i64 %to, 32
  %result = or i64 %upper, %from
  ret i64 %result
nothing:
  ret i64 0
}
"""

_ENTRIES = """
define internal void @ncc.run_flushing(ptr %buffers, i64 %tid, i64 %threads, i64 %before) nounwind {
  %saved = alloca i32, align 4
  call void @ncc.flush(ptr %saved)
  call void @run(ptr %buffers, i64 %tid, i64 %threads, i64 %before) noinline
  call void @ncc.restore(ptr %saved)
  ret void
}

; A run begins where the one before it ended: all its chunks are done.
define internal i64 @ncc.begin(ptr %buffers) nounwind {
  %state = load ptr, ptr %buffers, align 8
  %now = load atomic i64, ptr %state monotonic, align 64
  ret i64 %now
}

define void @ncc_run_alone(ptr %buffers) nounwind {
  %before = call i64 @ncc.begin(ptr %buffers)
  call void @ncc.run_flushing(ptr %buffers, i64 0, i64 1, i64 %before)
  ; Barriers count nothing for one thread, but its share is all there is.
  %state = load ptr, ptr %buffers, align 8
  %only = getelementptr i8, ptr %state, i64 64
  %taken = load i64, ptr %only, align 64
  store atomic i64 %taken, ptr %state monotonic, align 64
  ret void
}
"""

_MESSAGE = """
define internal void @ncc.copy(ptr %to, ptr %from, i64 %words) nounwind {
entry:
  %none = icmp eq i64 %words, 0
  br i1 %none, label %done, label %copy
copy:
  %n = phi i64 [ 0, %entry ], [ %next, %copy ]
  %from.at = getelementptr i64, ptr %from, i64 %n
  %to.at = getelementptr i64, ptr %to, i64 %n
  %word = load atomic i64, ptr %from.at monotonic, align 8
  store atomic i64 %word, ptr %to.at monotonic, align 8
  %next = add i64 %n, 1
  %more = icmp ult i64 %next, %words
  br i1 %more, label %copy, label %done
done:
  ret void
}

; Tells the workers about a launch.
define internal void @ncc.tell(ptr %pool, ptr %buffers, i64 %before) nounwind {
  %buffers.at = getelementptr i8, ptr %pool, i64 POOL_BUFFERS
  %numbers.at = getelementptr i8, ptr %pool, i64 POOL_NUMBERS
  %count = load i64, ptr %buffers.at, align 8
  %numbers = load i64, ptr %numbers.at, align 8
  %version.at = getelementptr i8, ptr %pool, i64 POOL_VERSION
  %version = load atomic i64, ptr %version.at monotonic, align 64
  %odd = add i64 %version, 1
  %even = add i64 %version, 2
  store atomic i64 %odd, ptr %version.at monotonic, align 64
  fence release
  %message = getelementptr i8, ptr %pool, i64 MESSAGE
  store atomic i64 %before, ptr %message monotonic, align 64
  %array = getelementptr i64, ptr %message, i64 1
  call void @ncc.copy(ptr %array, ptr %buffers, i64 %count)
  %told = getelementptr ptr, ptr %array, i64 %count
  %given.at = getelementptr i8, ptr %buffers, i64 NUMBERS_AT
  %given = load ptr, ptr %given.at, align 8
  call void @ncc.copy(ptr %told, ptr %given, i64 %numbers)
  store atomic i64 %even, ptr %version.at release, align 64
  ret void
}

; The copy of a thread of what the last launch told; null if another launch is just telling.
define internal ptr @ncc.heard(ptr %pool, i64 %tid) nounwind {
entry:
  %buffers.at = getelementptr i8, ptr %pool, i64 POOL_BUFFERS
  %numbers.at = getelementptr i8, ptr %pool, i64 POOL_NUMBERS
  %count = load i64, ptr %buffers.at, align 8
  %numbers = load i64, ptr %numbers.at, align 8
  %more = add i64 %count, %numbers
  %words = add i64 %more, 1
  %rounded = add i64 %words, 7
  %lines = lshr i64 %rounded, 3
  %before.mine = mul i64 %lines, %tid
  %offset = shl i64 %before.mine, 6
  %message = getelementptr i8, ptr %pool, i64 MESSAGE
  %mine = getelementptr i8, ptr %message, i64 %offset
  %version.at = getelementptr i8, ptr %pool, i64 POOL_VERSION
  %version = load atomic i64, ptr %version.at acquire, align 64
  %writing = trunc i64 %version to i1
  br i1 %writing, label %late, label %copy
copy:
  call void @ncc.copy(ptr %mine, ptr %message, i64 %words)
  fence acquire
  %again = load atomic i64, ptr %version.at monotonic, align 64
  %whole = icmp eq i64 %again, %version
  br i1 %whole, label %place, label %late
place:
  %told.at = add i64 %count, 1
  %told = getelementptr i64, ptr %mine, i64 %told.at
  %array = getelementptr i64, ptr %mine, i64 1
  %numbers.slot = getelementptr i8, ptr %array, i64 NUMBERS_AT
  store ptr %told, ptr %numbers.slot, align 8
  ret ptr %mine
late:
  ret ptr null
}
"""

_POOL = """
define void @ncc_worker(ptr %pool, i64 %tid) nounwind {
entry:
  %stop.at = getelementptr i8, ptr %pool, i64 12
  %threads.at = getelementptr i8, ptr %pool, i64 POOL_THREADS
  %threads = load i64, ptr %threads.at, align 8
  br label %idle
idle:
  ; A launch that came before this thread did is not missed: the count starts from 0 here too.
  %seen = phi i64 [ 0, %entry ], [ %current, %work ], [ %current, %run ]
  %goal = add i64 %seen, 1
  call void @ncc.wait_until(ptr %pool, i64 %goal, i64 IDLE_TICKS)
  %current = load atomic i64, ptr %pool acquire, align 64
  %stop = load atomic i32, ptr %stop.at monotonic, align 4
  %go = icmp eq i32 %stop, 0
  br i1 %go, label %work, label %done
work:
  %heard = call ptr @ncc.heard(ptr %pool, i64 %tid)
  %none = icmp eq ptr %heard, null
  br i1 %none, label %idle, label %run
run:
  %before = load i64, ptr %heard, align 64
  %buffers = getelementptr i64, ptr %heard, i64 1
  call void @ncc.run_flushing(ptr %buffers, i64 %tid, i64 %threads, i64 %before)
  br label %idle
done:
  ret void
}

define internal void @ncc.call_workers(ptr %pool) nounwind {
  %before = atomicrmw add ptr %pool, i64 1 seq_cst
  call void @ncc.wake_sleepers(ptr %pool)
  ret void
}

define void @ncc_launch(ptr %pool, ptr %buffers) nounwind {
  %threads.at = getelementptr i8, ptr %pool, i64 POOL_THREADS
  %threads = load i64, ptr %threads.at, align 8
  %before = call i64 @ncc.begin(ptr %buffers)
  call void @ncc.tell(ptr %pool, ptr %buffers, i64 %before)
  call void @ncc.call_workers(ptr %pool)
  call void @ncc.run_flushing(ptr %buffers, i64 0, i64 %threads, i64 %before)
  ret void
}

define void @ncc_stop(ptr %pool) nounwind {
  %stop.at = getelementptr i8, ptr %pool, i64 12
  store atomic i32 1, ptr %stop.at monotonic, align 4
  call void @ncc.call_workers(ptr %pool)
  ret void
}
"""


def threads_text(target: Target, declare_run: bool = True) -> str:
    """The LLVM text of barrier, taking, pool and entries.

    declare_run: True for a module of its own, where `run` is an external symbol; False when the
    text is appended to the module that defines `run`. LLVM's assembly parser must be initialized
    before, if the system calls of the target are inline assembly.
    """
    run = "declare void @run(ptr, i64, i64, i64)\n" if declare_run else ""
    text = run + processor_of(target).threads + _WAIT + _BARRIER + _TAKE + _ENTRIES
    text += _MESSAGE + _POOL
    for name, number in _NUMBERS.items():
        text = text.replace(name, str(number))
    return text
