import { type ForkOptions, forkPrivately } from './fork.ts'
import { eachLine, howItEnds, Tail } from './program-output.ts'
import { SIGN, SIGN_EVERY_VARIABLE } from './signs-of-life.ts'
import {
  type Life,
  type ReadyMessage,
  type Reports,
  supervise,
  type Supervised,
  type SuperviseOptions,
} from './supervisor.ts'

/** Longest line of a child that is looked at. */
const MAX_LINE_CHARS = 16_384

export interface SuperviseChildOptions extends SuperviseOptions, ForkOptions {
  /** Arguments of the child; see `Begin` for what they can follow from. */
  readonly args: (last: ReadyMessage | undefined, endedBy: string | undefined) => readonly string[]
  /** Each line the child writes on stderr (JSON by convention). */
  readonly onLine: (line: string) => void
}

export interface SupervisedChild extends Supervised {
  /** The process id while one runs. */
  pid(): number | undefined
}

interface ChildLife extends Life {
  readonly pid: number | undefined
}

/** The one line that a child prints when it serves, or why it is about to exit. */
type ChildMessage =
  | (ReadyMessage & { readonly event: 'ready' })
  | { readonly event: 'failed'; readonly reason: string }

function parseChildMessage(line: string): ChildMessage | undefined {
  let value: unknown
  try {
    value = JSON.parse(line.slice(0, MAX_LINE_CHARS))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || !('event' in value)) return undefined
  if (value.event === 'ready' && 'url' in value && typeof value.url === 'string') {
    return { ...value, event: 'ready', url: value.url }
  }
  if (value.event === 'failed' && 'reason' in value && typeof value.reason === 'string') {
    return { event: 'failed', reason: value.reason }
  }
  return undefined
}

/** One life of the child: from fork to exit. */
function live(
  options: SuperviseChildOptions,
  args: readonly string[],
  reports: Reports,
): ChildLife {
  const { signEveryMs: everyMs } = options
  const signs = everyMs === undefined ? {} : { [SIGN_EVERY_VARIABLE]: String(everyMs) }
  const child = forkPrivately({ ...options, env: { ...options.env, ...signs } }, args)
  const tail = new Tail()
  let explanation: string | undefined
  child.on('message', (message) => {
    if (message === SIGN) reports.sign()
  })
  eachLine(child.stdout, (line) => {
    const message = parseChildMessage(line)
    if (message?.event === 'failed') explanation ??= message.reason
    if (message?.event === 'ready' && explanation === undefined) reports.ready(message)
  })
  eachLine(child.stderr, (line) => {
    tail.add(line)
    options.onLine(line)
  })
  return {
    pid: child.pid,
    ended: howItEnds(child).then((how) => explanation ?? [how, ...tail.lines()].join('\n')),
    stop: () => void child.kill('SIGTERM'),
    kill: () => void child.kill('SIGKILL'),
  }
}

/**
 * Runs a module as a child process and keeps it running, and forwards its log. The child notices
 * this process's death, however it dies, by the channel between them (see `onStopRequest`).
 */
export function superviseChild(options: SuperviseChildOptions): SupervisedChild {
  const supervised = supervise(options, (reports, last, endedBy) =>
    live(options, options.args(last, endedBy), reports),
  )
  return { ...supervised, pid: () => supervised.life()?.pid }
}
