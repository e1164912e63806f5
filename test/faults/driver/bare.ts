/**
 * How to run a program as an operator would: `env` in front of it drops what a test runner loads into
 * every process of its own, however that one is started; the process id stays the program's.
 */
export function bare(
  program: string,
  args: readonly string[],
): readonly [file: string, args: string[]] {
  return ['env', ['-u', 'NODE_OPTIONS', program, ...args]]
}

/** What the machine's owner has set, none of ours; with what was compiled already, so that a start takes less. */
export function bareEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '/', NODE_COMPILE_CACHE } = process.env
  // Its callers are few, and ask more often than callers do.
  const OWN_REQUESTS_RPM = '6000'
  return {
    PATH,
    HOME,
    OWN_REQUESTS_RPM,
    ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
  }
}
