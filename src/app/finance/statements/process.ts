import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { type DomainCode, DomainError, isDomainError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { owned } from '../../../platform/owned.ts'
import type { JobKind, JobKinds } from './jobs.ts'

/**
 * Does jobs in a child process, so that neither their work nor their memory is at the cost of callers. The child starts
 * with the first job and ends some time after the last one.
 */

/** A job on its way to the child. */
export interface Job<Kind extends JobKind = JobKind> {
  readonly id: number
  readonly kind: Kind
  readonly input: JobKinds[Kind]['input']
}

/** The message by which a process gives its child a job, or takes one back. */
export type JobMessage = Job | { readonly withdrawn: number }

/** The answer to a job. */
export type JobAnswer = { readonly id: number } & (
  | { readonly answer: JobKinds[JobKind]['answer'] }
  | { readonly failure: JobFailure }
)

/** An error on its way from the child: classes do not pass. */
interface JobFailure {
  readonly message: string
  /** The code of a broken rule, of Postgres or of the system. */
  readonly code: unknown
  /** Details of a broken rule; other errors have none. */
  readonly details: DomainError['details'] | undefined
}

export function failureOf(error: unknown): JobFailure {
  if (!(error instanceof Error))
    return { message: String(error), code: undefined, details: undefined }
  const code: unknown = Reflect.get(error, 'code')
  return { message: error.message, code, details: isDomainError(error) ? error.details : undefined }
}

function errorOf({ message, code, details }: JobFailure): Error {
  if (details === undefined) return Object.assign(new Error(message), { code })
  return new DomainError(code as DomainCode, message, details)
}

/** Jobs that wait for the one that runs. */
const MAX_WAITING = 8
/** The child ends after this long without a job. */
const IDLE_MS = 60_000
/** A job whose child was killed is given to the next one; a job that kills each child fails. */
const MAX_LIVES = 3

interface Pending {
  readonly message: Job
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  lives: number
}

/**
 * Does one job and resolves to its answer.
 * @throws DomainError `overloaded` where too many jobs wait, once the process is stopped, and once the signal aborts
 */
export type RunJob = <Kind extends JobKind>(
  kind: Kind,
  input: JobKinds[Kind]['input'],
  signal?: AbortSignal,
) => Promise<JobKinds[Kind]['answer']>

export interface JobProcess {
  readonly run: RunJob
  /** The process id of the child; undefined while there is none. */
  readonly pid: () => number | undefined
  /** Ends the child; jobs fail from now on. */
  readonly stop: () => Promise<void>
}

export function createJobProcess({
  launch,
  logger,
  idleMs = IDLE_MS,
}: {
  /** Starts the child, with a channel for structured clones. */
  readonly launch: () => ChildProcess
  readonly logger: Log
  readonly idleMs?: number
}): JobProcess {
  return new JobQueue(launch, logger, idleMs)
}

function shuttingDown(): DomainError {
  return new DomainError('overloaded', 'the service is shutting down', {})
}

function callerLeft(): DomainError {
  return new DomainError('overloaded', 'the caller no longer waits', {})
}

class JobQueue implements JobProcess {
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

  readonly run: RunJob = async (kind, input, signal) => {
    if (this.#isStopped) throw shuttingDown()
    if (signal?.aborted === true) throw callerLeft()
    if (this.#waiting.length >= MAX_WAITING)
      throw new DomainError(
        'overloaded',
        `${MAX_WAITING} documents wait to be made: try again later`,
        {},
      )
    this.#lastId += 1
    const message = { id: this.#lastId, kind, input }
    let withdraw: (() => void) | undefined
    const answered = new Promise<unknown>((resolve, reject) => {
      const job = { message, resolve, reject, lives: MAX_LIVES }
      withdraw = () => this.#withdraw(job)
      signal?.addEventListener('abort', withdraw)
      this.#waiting.push(job)
      this.#next()
    })
    try {
      return (await answered) as JobKinds[typeof kind]['answer']
    } finally {
      if (withdraw !== undefined) signal?.removeEventListener('abort', withdraw)
    }
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

  /** Takes back a job that no caller waits for. The next one waits until the child has let go of it. */
  #withdraw(job: Pending): void {
    job.reject(callerLeft())
    job.lives = 1
    const place = this.#waiting.indexOf(job)
    if (place >= 0) this.#waiting.splice(place, 1)
    else if (this.#running === job) this.#send({ withdrawn: job.message.id })
  }

  #next(): void {
    if (this.#running !== undefined || this.#isStopped) return
    clearTimeout(this.#idle)
    this.#running = this.#waiting.shift()
    if (this.#running !== undefined) this.#send(this.#running.message)
    else if (this.#child !== undefined)
      this.#idle = setTimeout(() => this.#child?.process.kill('SIGTERM'), this.#idleMs).unref()
  }

  #send(message: JobMessage): void {
    // A failure to send is followed by the end of the child.
    ;(this.#child ??= this.#start()).process.send(message, () => undefined)
  }

  #start(): { readonly process: ChildProcess; readonly ended: Promise<unknown> } {
    const process = this.#launch()
    process.stdout?.resume()
    if (process.stderr)
      owned(createInterface({ input: owned(process.stderr) })).on('line', (line) =>
        this.#logger.warn({ line }, 'from the process of statements'),
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
    if ('answer' in answer) job.resolve(answer.answer)
    else job.reject(errorOf(answer.failure))
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
      else job.reject(new Error('the process of statements ended again and again'))
    }
    this.#next()
  }
}
