import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { owned } from '../../src/platform/owned.ts'
import { mallocBounds } from '../../src/platform/v8-flags.ts'
import { PRIVATE_UMASK } from './file-modes.ts'

/**
 * Children get these variables. Everything else stays here: provider credentials are in it, and no child
 * has any use for them.
 */
const INHERITED_ENVIRONMENT = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LD_LIBRARY_PATH',
  'LD_PRELOAD',
  'NODE_ENV',
  'NODE_COMPILE_CACHE',
  ...Object.keys(mallocBounds),
] as const

/** The module that runs as a child, its environment and its arguments of node. */
export interface ForkOptions {
  /** The module to run, as `programFile('infra/sandbox/main.ts')`; runs as `.js` from a build, through tsx from source. */
  readonly modulePath: URL
  /** Extra environment of the child. */
  readonly env?: Readonly<Record<string, string>>
  /** Extra arguments of node itself. */
  readonly execArgv?: readonly string[]
  /** How messages pass: as JSON, or as structured clones, which hold bytes and integers of any size. */
  readonly messages?: 'json' | 'clones'
}

interface Launch {
  readonly file: string
  readonly execArgv: readonly string[]
}

/** Finds the program to run: a build has another file extension. */
function launchOf(modulePath: URL): Launch {
  const built = import.meta.url.endsWith('.js')
  const file = fileURLToPath(modulePath)
  if (built) return { file: file.replace(/\.ts$/, '.js'), execArgv: [] }
  return { file, execArgv: file.endsWith('.ts') ? [`--import=${import.meta.resolve('tsx')}`] : [] }
}

function environmentOf(
  extra: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of INHERITED_ENVIRONMENT) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  return { ...mallocBounds, ...environment, ...extra }
}

/** Starts the child; only its account may use the files that it makes. */
export function forkPrivately(options: ForkOptions, args: readonly string[]): ChildProcess {
  const launch = launchOf(options.modulePath)
  // A child begins with the mask of its parent.
  const mask = process.umask(PRIVATE_UMASK)
  try {
    return owned(
      fork(launch.file, [...args], {
        execArgv: [...launch.execArgv, ...(options.execArgv ?? [])],
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
        serialization: options.messages === 'clones' ? 'advanced' : 'json',
        env: environmentOf(options.env),
        // A separate session: Ctrl-C in a terminal reaches the parent only, which drains before it
        // ends its children.
        detached: true,
      }),
    )
  } finally {
    process.umask(mask)
  }
}
