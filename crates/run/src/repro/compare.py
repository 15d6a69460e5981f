# Bits of precision: a log-sum-exp may come in a wider format than that of the call.
PRECISION = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}


def numbers(data):
    """Numbers written out, or packed as base64 of binary64 where there are many."""
    return decoded("float64", base64.b64decode(data)) if isinstance(data, str) else data


TURN = 0  # how often the calls were made before


def same(x, y):
    return x == y or (x != x and y != y)


def excess(got, expected, allowed):
    """How many times the limit the error is; 0 within it. Whatever is not a number lies within no limit."""
    if same(got, expected):
        return 0
    error = abs(got - expected) * (1 - 2.0**-52)  # this subtraction is rounded, too
    if error <= allowed:
        return 0
    return error / allowed if allowed > 0 else inf


def index_of(shape, at):
    index = []
    for n in reversed(shape):
        index.append(at % n)
        at //= n
    return "[%s]" % ", ".join("%s=%d" % pair for pair in zip("bhic", reversed(index)))


def judge(result, answer):
    """What is wrong with one result: where, what was expected, what came; None if nothing is."""
    name, label = result["name"], result["label"]
    if name not in answer:
        return "number of results of " + label, "a second result", "one result"
    dtype, shape, got = answer[name]
    if got is None:
        return label, "a tensor of floating-point numbers", dtype
    if tuple(shape) != result["shape"]:
        return "shape of the %s of %s" % (name, label), result["shape"], tuple(shape)
    if dtype != FORMAT and not (name == "lse" and PRECISION.get(dtype, 0) >= PRECISION[FORMAT]):
        return "format of the %s of %s" % (name, label), FORMAT, dtype
    expected, allowed = numbers(result["expected"]), numbers(result["allowed"])
    worst, at = 0, None
    for n, element in enumerate(zip(got, expected, allowed)):
        beyond = excess(*element)
        if at is None and beyond != 0 or beyond > worst:
            worst, at = beyond, n
    if at is None:
        return None
    times = "" if allowed[at] == 0 or worst != worst else "   (%.2f times the limit)" % worst
    where = "%s at %s" % (label, index_of(result["shape"], at))
    limit = " ± %r" % allowed[at] if allowed[at] else ""
    return where, "%r%s" % (expected[at], limit), "%r%s" % (got[at], times)


def still(where, expected, got):
    print("%s  %s: %s" % (VERDICT, CASE, TITLE))
    print("  at        %s" % where)
    print("  expected  %s" % (expected,))
    print("  got       %s" % (got,))
    return 1


def repeated(call, answer):
    """The same call once more gives the same numbers."""
    again = ask(call)
    exact = {result["name"]: numbers(result["expected"]) for result in call["results"]}
    for name in answer.keys() & again.keys():
        if name != "changed" and answer[name][2] is not None and again[name][2] is not None:
            for at, (x, y) in enumerate(zip(answer[name][2], again[name][2])):
                if not same(x, y):
                    right = repr(exact[name][at]) if at < len(exact.get(name, ())) else "the same number"
                    return "identical calls of " + call["label"], right + " every time", "%r, then %r" % (x, y)
    return None


def recorded(answers):
    """Whether every result is, element by element, the one that broke the law."""
    for call, answer in zip(CALLS, answers):
        for result in call["results"]:
            got, before = answer[result["name"]][2], numbers(result["recorded"])
            if len(got) != len(before) or not all(map(same, got, before)):
                return False
    return True


def seen():
    """1, told, while the finding is there; else what is to be told in the end."""
    answers = []
    for call in CALLS:
        try:
            answers.append(ask(call))
        except Exception as error:
            said = str(error) if isinstance(error, NoResult) else "%s: %s" % (type(error).__name__, error)
            if REFUSAL is None or isinstance(error, Broken):
                return still(call["label"], REFUSAL or "a result", said)
            return "FIXED  %s: refused (%s) by %s" % (CASE, LAW, said)
        if REFUSAL is not None:
            return still(call["label"], REFUSAL, "numbers of shape %s" % (answers[-1]["output"][1],))
    if REPEATS:
        for call, answer in zip(CALLS * 2, answers * 2):
            problem = repeated(call, answer)
            if problem is not None:
                return still(*problem)
    for call, answer in zip(CALLS, answers):
        problems = (judge(result, answer) for result in call["results"])
        problem = next((problem for problem in problems if problem is not None), None)
        if problem is None and answer["changed"]:
            problem = "inputs of " + call["label"], "the same bits after the call", "other bits"
        if problem is not None:
            return still(*problem)
    if RELATION is not None:
        if recorded(answers):
            print("%s  %s: unchanged, the results still break the law %s" % (VERDICT, CASE, LAW))
            print("  at        %s" % RELATION[0])
            print("  expected  %s" % RELATION[1])
            print("  got       %s" % RELATION[2])
            for call in CALLS:
                print("  call      %s" % call["label"])
            return 1
        return "CHANGED  %s: judge again with `qkvet replay %s`" % (LAW, CASE)
    return "FIXED  %s: every result lies within its limit (%s)" % (CASE, LAW)


def main():
    try:
        start()
    except Exception as error:
        print("the target cannot be loaded: %s: %s" % (type(error).__name__, error), file=sys.stderr)
        file = globals().get("FILE")  # none for a module
        if file is not None and not os.path.exists(file):
            print("hint: say where it is: python %s PATH" % os.path.basename(__file__), file=sys.stderr)
        return 2
    global TURN
    for TURN in range(TURNS):
        told = seen()
        if told == 1:
            return 1
    if TURNS > 3:
        n_calls = TURNS * len(CALLS) * (3 if REPEATS else 1)
        print("UNSEEN  %s: not seen again in %d calls, which proves nothing: it showed at times alone" % (CASE, n_calls))
        return 4
    print(told)
    return 0


def guarded():
    """The same in a process of its own, which may die."""
    if os.environ.get("QKVET_GUARDED"):
        return main()
    command = [sys.executable, os.path.abspath(__file__)] + sys.argv[1:]
    code = subprocess.run(command, env=dict(os.environ, QKVET_GUARDED="1")).returncode
    if code in (0, 1, 2, 4):
        return code
    how = "signal %d" % -code if code < 0 else "exit code %d" % code
    return still("a call of this case", "a result", "the process ended with " + how)


if hasattr(sys.stdout, "reconfigure"):
    sys.stdout.reconfigure(errors="replace")
sys.exit(guarded() if GUARDED else main())
