"""LLVM text of what threads need at run time: chunks to take, a barrier, a pool, the entries.

The text stands in a module of its own or is appended to the model's; either way no library is
called: waiting is a spin on `pause`, then a futex system call (Linux, x86-64).

    void ncc_barrier(void *state, int64_t threads)   all threads meet; at once for one thread
    int64_t ncc_take(void *state, int64_t launch, int64_t chunks, int64_t tid, int64_t threads)
                                                     first + (last << 32) of chunks to do
    void ncc_run_alone(void **buffers)               run(buffers, 0, 1) in the caller's thread
    void ncc_launch(void *pool, void **buffers)      run on all threads of the pool, caller included
    void ncc_worker(void *pool, int64_t tid)         what thread tid > 0 of a pool does for life
    void ncc_stop(void *pool)                        lets the workers return

Every thread has FTZ and DAZ set in MXCSR while it is inside `run`, and its own setting after it.

State, aligned to 64, zeroed by the entries before each run:
    i32 +0 arrived    i32 +64 generation, i32 +68 sleepers
    i64 +128 + 64 tid: next + (launch << 32), how far the share of a thread is taken
Pool, 128 bytes aligned to 64, zeroed by its maker but for `threads` (ncc.runtime.threads):
    i32 +0 generation, i32 +4 sleepers, i32 +8 stop, i64 +16 threads, ptr +24 buffers
    i32 +64 running, i32 +68 launcher sleeps

Why no chunk is lost: a thread goes on to a launch when it has seen all shares of the one before
taken. So whoever finds the word of a share at an earlier launch may begin that share, and whoever
finds it at a later one knows that there is nothing left.

Why nobody sleeps through a wake: a waiter first counts itself among the sleepers and then lets the
kernel compare the word with the value it has seen; a waker first changes the word and then looks
at the count.  All four are sequentially consistent, so at least one of the two sees the other.
"""

from __future__ import annotations

from ncc.runtime.threads import POOL_THREADS

# Time-stamp ticks to spin before sleeping: 25-50 us at the 2-4 GHz of today's processors.  Longer
# than a barrier between kernels takes when all threads have a core, too short to show up as load.
SPIN_TICKS = 100_000

# The same for workers between runs: long enough for the caller to prepare the next one, since to
# be woken takes longer than the kernels of a small network.
IDLE_TICKS = 1_000_000

_NUMBERS = {"SPIN_TICKS": SPIN_TICKS, "IDLE_TICKS": IDLE_TICKS, "POOL_THREADS": POOL_THREADS}
"""What the text below calls by name."""

_FUTEX = """
define internal void @ncc.futex_wait(ptr %word, i32 %seen) nounwind noinline {
  ; futex(word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, no timeout)
  %r = call i64 asm sideeffect "syscall",
    "={rax},{rax},{rdi},{rsi},{rdx},{r10},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"
    (i64 202, ptr %word, i64 128, i32 %seen, i64 0)
  ret void
}

define internal void @ncc.futex_wake(ptr %word) nounwind noinline {
  ; futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, everybody)
  %r = call i64 asm sideeffect "syscall",
    "={rax},{rax},{rdi},{rsi},{rdx},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}"
    (i64 202, ptr %word, i64 129, i64 2147483647)
  ret void
}

; Returns once *word differs from %seen; spins for %patience ticks before it sleeps.
define internal void @ncc.wait_while(ptr %word, i32 %seen, ptr %sleepers, i64 %patience)
  nounwind noinline {
entry:
  %start = call i64 @llvm.readcyclecounter()
  br label %spin
spin:
  %spun = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %spun, %seen
  br i1 %same, label %pause, label %done
pause:
  call void @llvm.x86.sse2.pause()
  %now = call i64 @llvm.readcyclecounter()
  %ticks = sub i64 %now, %start
  %early = icmp ult i64 %ticks, %patience
  br i1 %early, label %spin, label %sleep
sleep:
  %before = atomicrmw add ptr %sleepers, i32 1 seq_cst
  br label %doze
doze:
  call void @ncc.futex_wait(ptr %word, i32 %seen)
  %woken = load atomic i32, ptr %word acquire, align 4
  %still = icmp eq i32 %woken, %seen
  br i1 %still, label %doze, label %rise
rise:
  %after = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  ret void
done:
  ret void
}

; To be called after *word was changed.
define internal void @ncc.wake_sleepers(ptr %word, ptr %sleepers) nounwind {
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
define void @ncc_barrier(ptr %state, i64 %threads) nounwind {
entry:
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %done, label %meet
meet:
  %generation = getelementptr i8, ptr %state, i64 64
  %sleepers = getelementptr i8, ptr %state, i64 68
  ; Before arriving: afterwards the last one may already have opened the barrier.
  %seen = load atomic i32, ptr %generation acquire, align 4
  %before = atomicrmw add ptr %state, i32 1 acq_rel
  %arrived = add i32 %before, 1
  %all = trunc i64 %threads to i32
  %last = icmp eq i32 %arrived, %all
  br i1 %last, label %open, label %wait
open:
  store atomic i32 0, ptr %state monotonic, align 4
  %next = atomicrmw add ptr %generation, i32 1 seq_cst
  call void @ncc.wake_sleepers(ptr %generation, ptr %sleepers)
  ret void
wait:
  call void @ncc.wait_while(ptr %generation, i32 %seen, ptr %sleepers, i64 SPIN_TICKS)
  ret void
done:
  ret void
}
"""

_TAKE = """
define i64 @ncc_take(ptr %state, i64 %launch, i64 %chunks, i64 %tid, i64 %threads) nounwind {
entry:
  %tag = shl i64 %launch, 32
  %alone = icmp eq i64 %threads, 1
  br i1 %alone, label %single, label %share
single:
  %only = getelementptr i8, ptr %state, i64 128
  %before = load i64, ptr %only, align 64
  %is.over = icmp eq i64 %before, %tag
  store i64 %tag, ptr %only, align 64
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
  %first = udiv i64 %low, %threads
  %last = udiv i64 %high, %threads
  %line = shl i64 %whose.next, 6
  %line.at = add i64 %line, 64
  %word = getelementptr i8, ptr %state, i64 %line.at
  %glimpse = load atomic i64, ptr %word acquire, align 64
  br label %look
look:
  %seen = phi i64 [ %glimpse, %share ], [ %found, %try ]
  %at = lshr i64 %seen, 32
  %is.later = icmp ugt i64 %at, %launch
  br i1 %is.later, label %taken, label %count
count:
  %is.begun = icmp eq i64 %at, %launch
  %position = and i64 %seen, 4294967295
  %next = select i1 %is.begun, i64 %position, i64 %first
  %left = sub i64 %last, %next
  %none = icmp eq i64 %left, 0
  br i1 %none, label %taken, label %try
try:
  %rounded = add i64 %left, 3
  %quarter = lshr i64 %rounded, 2
  %until = add i64 %next, %quarter
  %wanted = or i64 %tag, %until
  %swap = cmpxchg ptr %word, i64 %seen, i64 %wanted acq_rel acquire, align 64
  %found = extractvalue { i64, i1 } %swap, 0
  %mine = extractvalue { i64, i1 } %swap, 1
  br i1 %mine, label %done, label %look
taken:
  %more = add i64 %passed, 1
  %all = icmp eq i64 %more, %threads
  br i1 %all, label %nothing, label %share
done:
  %upper = shl i64 %until, 32
  %result = or i64 %upper, %next
  ret i64 %result
nothing:
  ret i64 0
}
"""

_ENTRIES = """
define internal void @ncc.run_flushing(ptr %buffers, i64 %tid, i64 %threads) nounwind {
  %saved = alloca i32, align 4
  %inside = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  %mode = load i32, ptr %saved, align 4
  %flushing = or i32 %mode, 32832 ; FTZ is bit 15, DAZ is bit 6
  store i32 %flushing, ptr %inside, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %inside)
  call void @run(ptr %buffers, i64 %tid, i64 %threads) noinline
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}

define internal void @ncc.clear_state(ptr %buffers, i64 %threads) nounwind {
entry:
  %state = load ptr, ptr %buffers, align 8
  %lines = add i64 %threads, 2
  br label %clear
clear:
  %line = phi i64 [ 0, %entry ], [ %next, %clear ]
  %offset = shl i64 %line, 6
  %at = getelementptr i8, ptr %state, i64 %offset
  store <16 x i32> zeroinitializer, ptr %at, align 64
  %next = add i64 %line, 1
  %more = icmp ult i64 %next, %lines
  br i1 %more, label %clear, label %done
done:
  ret void
}

define void @ncc_run_alone(ptr %buffers) nounwind {
  call void @ncc.clear_state(ptr %buffers, i64 1)
  call void @ncc.run_flushing(ptr %buffers, i64 0, i64 1)
  ret void
}
"""

_POOL = """
define void @ncc_worker(ptr %pool, i64 %tid) nounwind {
entry:
  %sleepers = getelementptr i8, ptr %pool, i64 4
  %stop.at = getelementptr i8, ptr %pool, i64 8
  %threads.at = getelementptr i8, ptr %pool, i64 POOL_THREADS
  %buffers.at = getelementptr i8, ptr %pool, i64 24
  %running = getelementptr i8, ptr %pool, i64 64
  %launcher = getelementptr i8, ptr %pool, i64 68
  %threads = load i64, ptr %threads.at, align 8
  br label %idle
idle:
  ; A launch that came before this thread did is not missed: the count starts from 0 here too.
  %seen = phi i32 [ 0, %entry ], [ %current, %report ], [ %current, %last ]
  call void @ncc.wait_while(ptr %pool, i32 %seen, ptr %sleepers, i64 IDLE_TICKS)
  %current = load atomic i32, ptr %pool acquire, align 4
  %stop = load atomic i32, ptr %stop.at acquire, align 4
  %go = icmp eq i32 %stop, 0
  br i1 %go, label %report, label %done
report:
  %buffers = load ptr, ptr %buffers.at, align 8
  call void @ncc.run_flushing(ptr %buffers, i64 %tid, i64 %threads)
  %before = atomicrmw sub ptr %running, i32 1 seq_cst
  %is.last = icmp eq i32 %before, 1
  br i1 %is.last, label %last, label %idle
last:
  call void @ncc.wake_sleepers(ptr %running, ptr %launcher)
  br label %idle
done:
  ret void
}

define void @ncc_launch(ptr %pool, ptr %buffers) nounwind {
entry:
  %sleepers = getelementptr i8, ptr %pool, i64 4
  %threads.at = getelementptr i8, ptr %pool, i64 POOL_THREADS
  %buffers.at = getelementptr i8, ptr %pool, i64 24
  %running = getelementptr i8, ptr %pool, i64 64
  %launcher = getelementptr i8, ptr %pool, i64 68
  %threads = load i64, ptr %threads.at, align 8
  call void @ncc.clear_state(ptr %buffers, i64 %threads)
  store ptr %buffers, ptr %buffers.at, align 8
  %all = trunc i64 %threads to i32
  %workers = sub i32 %all, 1
  store atomic i32 %workers, ptr %running release, align 4
  %before = atomicrmw add ptr %pool, i32 1 seq_cst
  call void @ncc.wake_sleepers(ptr %pool, ptr %sleepers)
  call void @ncc.run_flushing(ptr %buffers, i64 0, i64 %threads)
  br label %wait
wait:
  %left = load atomic i32, ptr %running acquire, align 4
  %finished = icmp eq i32 %left, 0
  br i1 %finished, label %done, label %again
again:
  call void @ncc.wait_while(ptr %running, i32 %left, ptr %launcher, i64 SPIN_TICKS)
  br label %wait
done:
  ret void
}

define void @ncc_stop(ptr %pool) nounwind {
  %sleepers = getelementptr i8, ptr %pool, i64 4
  %stop.at = getelementptr i8, ptr %pool, i64 8
  store atomic i32 1, ptr %stop.at release, align 4
  %before = atomicrmw add ptr %pool, i32 1 seq_cst
  call void @ncc.wake_sleepers(ptr %pool, ptr %sleepers)
  ret void
}
"""

_DECLARATIONS = """
declare i64 @llvm.readcyclecounter()
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""


def threads_text(declare_run: bool = True) -> str:
    """The LLVM text of taking, barrier, pool and entries, for every x86-64 target.

    declare_run: True for a module of its own, where `run` is an external symbol; False when the
    text is appended to the module that defines `run`.  LLVM's assembly parser must have been
    initialised before machine code is made of it (the system calls are inline assembly).
    """
    run = "declare void @run(ptr, i64, i64)\n" if declare_run else ""
    text = run + _DECLARATIONS + _FUTEX + _BARRIER + _TAKE + _ENTRIES + _POOL
    for name, number in _NUMBERS.items():
        text = text.replace(name, str(number))
    return text
