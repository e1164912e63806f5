import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { DomainError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { owned } from '../../../platform/owned.ts'
import type { BuiltTree, TreeJob } from './tree.ts'

/**
 * Builds trees in a child process, so that neither their hashes nor their memory are at the cost of callers. The child
 * starts with the first job and ends some time after the last one.
 */

/** The message by which a process gives its child a job. */
export interface JobMessage {
  readonly id: number
  readonly job: TreeJob
}

/** The answer to a job. */
export type JobAnswer = { readonly id: number } & (
  | { readonly tree: BuiltTree }
  | { readonly failure: string }
)

/** Jobs that wait for the one that runs. */
const MAX_WAITING = 8
/** The child ends after this long without a job. */
const IDLE_MS = 60_000
/** A job whose child was killed is given to the next one; a job that kills each child fails. */
const MAX_LIVES = 3

interface Pending {
  readonly message: JobMessage
  readonly resolve: (tree: BuiltTree) => void
  readonly reject: (error: Error) => void
  lives: number
}

export interface TreeProcess {
  /** Builds a tree. @throws DomainError `overloaded` where too many jobs wait, and once it is stopped */
  readonly build: (job: TreeJob) => Promise<BuiltTree>
  /** The process id of the child; undefined while there is none. */
  readonly pid: () => number | undefined
  /** Ends the child; jobs fail from now on. */
  readonly stop: () => Promise<void>
}

export function createTreeProcess({
  launch,
  logger,
  idleMs = IDLE_MS,
}: {
  /** Starts the child, with a channel for messages. */
  readonly launch: () => ChildProcess
  readonly logger: Log
  readonly idleMs?: number
}): TreeProcess {
  return new JobQueue(launch, logger, idleMs)
}

function shuttingDown(): DomainError {
  return new DomainError('overloaded', 'the service is shutting down', {})
}

class JobQueue implements TreeProcess {
  readonly #launch: () => ChildProcess
  readonly #logger: Log
  readonly #idleMs: number
  readonly #waiting: Pending[] = []
  #running: Pending | undefined
  #child: { readonly process: ChildProcess; readonly ended: Promise<unknown> } | undefined
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isStopped = false

  constructor(launch: () => ChildProcess, logger: Log, idleMs: number) {
    this.#launch = launch
    this.#logger = logger
    this.#idleMs = idleMs
  }

  readonly build = (job: TreeJob): Promise<BuiltTree> => {
    if (this.#isStopped) throw shuttingDown()
    if (this.#waiting.length >= MAX_WAITING)
      throw new DomainError(
        'overloaded',
        `${MAX_WAITING} statements wait to be made: try again later`,
        {},
      )
    return new Promise((resolve, reject) => {
      this.#lastId += 1
      const message = { id: this.#lastId, job }
      this.#waiting.push({ message, resolve, reject, lives: MAX_LIVES })
      this.#next()
    })
  }

  readonly pid = (): number | undefined => this.#child?.process.pid

  readonly stop = async (): Promise<void> => {
    this.#isStopped = true
    clearTimeout(this.#idle)
    const child = this.#child
    child?.process.kill('SIGTERM')
    for (const { reject } of this.#waiting.splice(0)) reject(shuttingDown())
    this.#running?.reject(shuttingDown())
    this.#running = undefined
    await child?.ended
  }

  #next(): void {
    if (this.#running !== undefined || this.#isStopped) return
    clearTimeout(this.#idle)
    this.#running = this.#waiting.shift()
    if (this.#running === undefined) {
      if (this.#child !== undefined)
        this.#idle = setTimeout(() => this.#child?.process.kill('SIGTERM'), this.#idleMs).unref()
      return
    }
    const { process } = (this.#child ??= this.#start())
    // A failure to send is followed by the end of the child.
    process.send(this.#running.message, () => undefined)
  }

  #start(): { readonly process: ChildProcess; readonly ended: Promise<unknown> } {
    const process = this.#launch()
    process.stdout?.resume()
    if (process.stderr)
      owned(createInterface({ input: owned(process.stderr) })).on('line', (line) =>
        this.#logger.warn({ line }, 'from the process that builds statements'),
      )
    process.on('message', (answer) => this.#answered(answer as JobAnswer))
    process.on('error', (error) => this.#logger.warn({ err: error.message }, 'no child process'))
    const ended = new Promise<void>((resolve) => {
      const end = (): void => {
        resolve()
        if (this.#child?.process === process) this.#lost()
      }
      process.once('exit', end)
      // One that could not be started has no exit.
      process.on('error', () => process.pid === undefined && end())
    })
    return { process, ended }
  }

  #answered(answer: JobAnswer): void {
    const job = this.#running
    if (job === undefined || job.message.id !== answer.id) return
    this.#running = undefined
    if ('tree' in answer) job.resolve(answer.tree)
    else job.reject(new Error(answer.failure))
    this.#next()
  }

  /** The child is gone: its job is given to another one. */
  #lost(): void {
    this.#child = undefined
    const job = this.#running
    this.#running = undefined
    if (job !== undefined) {
      job.lives -= 1
      if (job.lives > 0) this.#waiting.unshift(job)
      else job.reject(new Error('the process that builds statements ended again and again'))
    }
    this.#next()
  }
}

/** Answers one job in the child. */
export async function answerJob(
  { id, job }: JobMessage,
  build: (job: TreeJob) => Promise<BuiltTree>,
): Promise<JobAnswer> {
  try {
    return { id, tree: await build(job) }
  } catch (error) {
    return { id, failure: error instanceof Error ? error.message : String(error) }
  }
}
