"""The names that C and POSIX have taken, with GNU's extensions: no library has such a name.

They are functions, variables and types (a header of ours would declare the name as another type),
headers (of two `string.h` a compiler finds one), and libraries (of two `libm.so`, too).
"""

from __future__ import annotations

import re

_FAMILIES = re.compile(r"(aio|atomic|cnd|inet6|mq|mtx|posix|pthread|sched|thrd|tss)_\w+")
"""Names that begin with what they are about."""

_FORMS = ("f", "l", "64", "_l", "_r", "_unlocked")
"""What the names of other forms of a function end in: of another type, of a locale, for threads."""


def is_taken(name: str) -> bool:
    """Whether a name is one of these."""
    bases = (name, *(name.removesuffix(form) for form in _FORMS))
    return _FAMILIES.fullmatch(name) is not None or not _NAMES.isdisjoint(bases)


_NAMES = frozenset(
    """
ACTION DIR Dl_info Dl_serinfo Dl_serpath ENTRY FILE Lmid_t VISIT a64l abort abs accept accept4
access acct acos acosh active_reg_t addseverity adjtime aio alarm aliases aligned_alloc alloca
alphasort ar arc4random arc4random_buf arc4random_uniform argp argz asctime asin asinh asprintf
assert at_quick_exit atan atan2 atanh atexit atof atoi atol atomic bcmp bcopy bind bindresvport
bindresvport6 blkcnt64_t blkcnt_t blksize_t brk bsearch btowc byteswap bzero c c16rtomb c32rtomb
c8rtomb cabs cacos cacosh caddr_t call_once calloc canonicalize canonicalize_file_name carg casin
casinh catan catanh catclose catgets catopen cbrt cc_t ccos ccosh ceil cexp cfgetispeed cfgetospeed
cfmakeraw cfsetispeed cfsetospeed cfsetspeed char16_t char32_t char8_t chdir chmod chown chroot
cimag clearenv clearerr clock clock_adjtime clock_getcpuclockid clock_getres clock_gettime
clock_nanosleep clock_settime clock_t clockid_t clog clog10 clone close close_range closedir
closefrom closelog comparison_fn_t complex confstr conj connect cookie_close_function_t
cookie_io_functions_t cookie_read_function_t cookie_seek_function_t cookie_write_function_t
copy_file_range copysign cos cosh cpio cpow cproj cpu_set_t creal creat crypt csin csinh csqrt ctan
ctanh ctermid ctime ctype cuserid daddl daddr_t daemon daylight ddivl dev_t dfmal difftime dirent
dirfd dirname div div_t dl dladdr dladdr1 dlclose dlerror dlfcn dlinfo dlmopen dlopen dlsym dlvsym
dmull double_t dprintf drand48 drem dsqrtl dsubl dup dup2 dup3 duplocale dysize eaccess ecvt elf
endgrent endhostent endian endnetent endnetgrent endprotoent endpwent endrpcent endservent
endusershell endutxent environ envz erand48 erf erfc err errno error error_t euidaccess execinfo
execl execle execlp execv execve execveat execvp execvpe exit exp exp10 exp2 explicit_bzero expm1
fabs faccessat fadd fallocate fchdir fchmod fchmodat fchown fchownat fclose fcloseall fcntl fcvt
fd_mask fd_set fdatasync fdim fdiv fdopen fdopendir features feclearexcept fedisableexcept
feenableexcept fegetenv fegetexcept fegetexceptflag fegetmode fegetround feholdexcept femode_t fenv
fenv_t feof feraiseexcept ferror fesetenv fesetexcept fesetexceptflag fesetmode fesetround
fetestexcept fetestexceptflag feupdateenv fexcept_t fexecve fflush ffma ffs ffsll fgetc fgetgrent
fgetpos fgetpwent fgets fgetwc fgetws fileno finite float float_t flockfile floor fma fmax fmaximum
fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fmemopen fmin fminimum fminimum_mag
fminimum_mag_num fminimum_num fminmag fmod fmtmsg fmul fnmatch fopen fopencookie fork fpathconf
fpos64_t fpos_t fpregset_t fprintf fpu_control fputc fputs fputwc fputws fread free freeaddrinfo
freelocale freopen frexp fromfp fromfpx fsblkcnt64_t fsblkcnt_t fscanf fseek fseeko fsetpos
fsfilcnt64_t fsfilcnt_t fsid_t fsqrt fstab fstat fstatat fstatvfs fsub fsync ftell ftello ftok
ftruncate ftrylockfile fts ftw funlockfile futimens futimes futimesat fwide fwprintf fwrite fwscanf
gai_cancel gai_error gai_strerror gai_suspend gamma gcc gconv gcvt get_current_dir_name getaddrinfo
getaddrinfo_a getc getchar getcpu getcwd getdate getdate_err getdelim getdents64 getdirentries
getdomainname getdtablesize getegid getentropy getenv geteuid getgid getgrent getgrgid getgrnam
getgrouplist getgroups gethostbyaddr gethostbyname gethostbyname2 gethostent gethostid gethostname
getipv4sourcefilter getitimer getline getloadavg getlogin getnameinfo getnetbyaddr getnetbyname
getnetent getnetgrent getopt getpagesize getpass getpayload getpeername getpgid getpgrp getpid
getppid getpriority getprotobyname getprotobynumber getprotoent getpt getpw getpwent getpwnam
getpwuid getresgid getresuid getrlimit getrpcbyname getrpcbynumber getrpcent getrusage getservbyname
getservbyport getservent getsid getsockname getsockopt getsourcefilter getsubopt gettid gettimeofday
getuid getumask getusershell getutmp getutmpx getutxent getutxid getutxline getw getwc getwchar
getwd gid_t glob glob64_t glob_pattern_p glob_t globfree gmtime grantpt greg_t gregset_t
group_member grp gshadow gsignal hcreate hdestroy herror hsearch hstrerror htonl htons hypot iconv
iconv_close iconv_open iconv_t id_t idtype_t ieee754 if_freenameindex if_indextoname if_nameindex
if_nametoindex ifaddrs ilogb imaxabs imaxdiv imaxdiv_t in6addr_any in6addr_loopback in_addr_t
in_port_t index inet_addr inet_aton inet_lnaof inet_makeaddr inet_net_ntop inet_net_pton inet_neta
inet_netof inet_network inet_nsap_addr inet_nsap_ntoa inet_ntoa inet_ntop inet_pton initgroups
initstate innetgr ino64_t ino_t insque int16_t int32_t int64_t int8_t int_fast16_t int_fast32_t
int_fast64_t int_fast8_t int_least16_t int_least32_t int_least64_t int_least8_t intmax_t intptr_t
inttypes iruserok iruserok_af isalnum isalpha isascii isatty isblank iscntrl isctype isdigit
isfdtype isgraph isinf islower isnan iso646 isprint ispunct isspace isupper iswalnum iswalpha
iswblank iswcntrl iswctype iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit
isxdigit j0 j1 jmp_buf jn jrand48 key_t kill killpg l64a labs langinfo lastlog lchmod lchown lcong48
ldexp ldiv ldiv_t lfind lgamma lgammaf32_r lgammaf32x_r lgammaf64_r lgammaf64x_r lgammaf_r lgammal_r
libgen libintl limits link linkat lio_listio listen llabs lldiv lldiv_t llogb llrint llround locale
locale_t localeconv localtime lockf loff_t log log10 log1p log2 logb longjmp lrand48 lrint lround
lsearch lseek lstat lutimes m madvise malloc math max_align_t mblen mbrlen mbrtoc16 mbrtoc32 mbrtoc8
mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstate_t mbstowcs mbtowc mcheck mcontext_t memccpy memchr
memcmp memcpy memfd_create memfrob memmem memmove memory memory_order mempcpy memrchr memset mincore
mkdir mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkostemp mkostemps mkstemp mkstemps mktemp
mktime mlock mlock2 mlockall mmap mntent mode_t modf monetary mprotect mqd_t mqueue mrand48 mremap
msgctl msgget msglen_t msgqnum_t msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at nan
nanosleep nearbyint netdb newlocale nextafter nextdown nexttoward nextup nfds_t nftw nice nl_catd
nl_item nl_langinfo nl_types nlink_t nrand48 nss ntohl ntohs obstack obstack_printf obstack_vprintf
off64_t off_t on_exit once_flag open open_by_handle_at open_memstream open_wmemstream openat opendir
openlog optarg opterr optind optopt pathconf paths pause pclose perror pid_t pipe pipe2 pkey_alloc
pkey_free pkey_get pkey_mprotect pkey_set poll popen pow ppoll pread preadv preadv2 preadv64v2
printf prlimit proc_service process_madvise process_mrelease process_vm_readv process_vm_writev
profil program_invocation_name program_invocation_short_name pselect psiginfo psignal pthread
ptrdiff_t ptsname pty putc putchar putenv putgrent putpwent puts pututxline putw putwc putwchar pwd
pwrite pwritev pwritev2 pwritev64v2 qecvt qfcvt qgcvt qsort quad_t quick_exit raise rand random
rawmemchr rcmd rcmd_af re_comp re_compile_fastmap re_compile_pattern re_match re_match_2 re_search
re_search_2 re_set_registers re_set_syntax re_syntax_options read readahead readdir readdir64_r
readlink readlinkat readv realloc reallocarray realpath recv recvfrom recvmmsg recvmsg reg_errcode_t
reg_syntax_t regcomp regerror regex regex_t regexec regexp regfree register_t regmatch_t regoff_t
remainder remap_file_pages remove remque remquo rename renameat renameat2 resolv revoke rewind
rewinddir rexec rexec_af rindex rint rlim64_t rlim_t rmdir round roundeven rpmatch rresvport
rresvport_af rt ruserok ruserok_af s_reg_t sa_family_t sbrk scalb scalbln scalbn scandir scandirat
scanf sched search secure_getenv seed48 seekdir select sem_clockwait sem_close sem_destroy
sem_getvalue sem_init sem_open sem_post sem_t sem_timedwait sem_trywait sem_unlink sem_wait
semaphore semctl semget semop semtimedop send sendmmsg sendmsg sendto setbuf setbuffer setdomainname
setegid setenv seteuid setgid setgrent setgroups sethostent sethostid sethostname
setipv4sourcefilter setitimer setjmp setlinebuf setlocale setlogin setlogmask setnetent setnetgrent
setns setpayload setpayloadsig setpgid setpgrp setpriority setprotoent setpwent setregid setresgid
setresuid setreuid setrlimit setrpcent setservent setsid setsockopt setsourcefilter setstate
settimeofday setuid setusershell setutxent setvbuf sgtty shadow shm_open shm_unlink shmat shmatt_t
shmctl shmdt shmget shutdown sig_atomic_t sig_t sigabbrev_np sigaction sigaddset sigaltstack
sigandset sigblock sigdelset sigdescr_np sigemptyset sigevent_t sigfillset siggetmask sighandler_t
sighold sigignore siginfo_t siginterrupt sigisemptyset sigismember sigjmp_buf siglongjmp signal
signgam significand sigorset sigpause sigpending sigprocmask sigqueue sigrelse sigreturn sigset
sigset_t sigsetmask sigstack sigsuspend sigtimedwait sigval_t sigwait sigwaitinfo sin sincos sinh
size_t sleep snprintf sockatmark socket socketpair socklen_t spawn speed_t splice sprintf sqrt srand
srand48 srandom sscanf ssignal ssize_t stab stack_t stat statvfs statx stdalign stdarg stdatomic
stdbit stdbool stdckdint stddef stderr stdin stdint stdio stdio_ext stdlib stdnoreturn stdout stpcpy
stpncpy strcasecmp strcasestr strcat strchr strchrnul strcmp strcoll strcpy strcspn strdup strerror
strerrordesc_np strerrorname_np strfmon strfromd strfromf strfroml strfry strftime string strings
strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strptime strrchr strsep strsignal
strspn strstr strtod strtof strtof32_l strtof32x_l strtof64_l strtof64x_l strtoimax strtok strtol
strtold strtoll_l strtoq strtoul strtoull_l strtoumax strtouq strverscmp strxfrm suseconds_t swab
swprintf swscanf symlink symlinkat sync sync_file_range syncfs syscall sysconf sysexits syslog
system sysv_signal tan tanh tar tcdrain tcflag_t tcflow tcflush tcgetattr tcgetpgrp tcgetsid tcp_seq
tcsendbreak tcsetattr tcsetpgrp tdelete tdestroy tee telldir tempnam termio termios tfind tgamma
tgkill tgmath thread_db threads time time_t timegm timelocal timer_create timer_delete
timer_getoverrun timer_gettime timer_settime timer_t times timespec_get timespec_getres timezone
tmpfile tmpnam toascii tolower totalorder totalordermag toupper towctrans towlower towupper trunc
truncate tsearch ttyent ttyname ttyslot twalk tzname tzset u_char u_int u_int16_t u_int32_t
u_int64_t u_int8_t u_long u_quad_t u_short ualarm uchar ucontext ucontext_t ufromfp ufromfpx uid_t
uint uint16_t uint32_t uint64_t uint8_t uint_fast16_t uint_fast32_t uint_fast64_t uint_fast8_t
uint_least16_t uint_least32_t uint_least64_t uint_least8_t uintmax_t uintptr_t ulimit ulong umask
uname ungetc ungetwc unistd unlink unlinkat unlockpt unsetenv unshare unwind updwtmpx useconds_t
uselocale ushort usleep util utime utimensat utimes utmp utmpx utmpxname va_list valloc values
varargs vasprintf vdprintf versionsort vfork vfprintf vfscanf vfwprintf vfwscanf vhangup vmsplice
vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf vsyslog vwprintf vwscanf wait wait3
wait4 waitid waitpid wchar wchar_t wcpcpy wcpncpy wcrtomb wcscasecmp wcscat wcschr wcschrnul wcscmp
wcscoll wcscpy wcscspn wcsdup wcsftime wcslen wcsncasecmp wcsncat wcsncmp wcsncpy wcsnlen wcsnrtombs
wcspbrk wcsrchr wcsrtombs wcsspn wcsstr wcstod wcstof wcstof32_l wcstof32x_l wcstof64_l wcstof64x_l
wcstoimax wcstok wcstol wcstold wcstoll_l wcstombs wcstoq wcstoul wcstoull_l wcstoumax wcstouq
wcswcs wcswidth wcsxfrm wctob wctomb wctrans wctrans_t wctype wctype_t wcwidth wint_t wmemchr
wmemcmp wmemcpy wmemmove wmempcpy wmemset wordexp wordexp_t wordfree wprintf write writev wscanf y0
y1 yn
""".split()
)
"""All others."""
