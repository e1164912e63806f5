import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { bare, bareEnvironment } from '../../helpers/child.ts'
import type { Product } from '../../helpers/product.ts'
import {
  identify,
  isAlive,
  type Known,
  postmastersBelow,
  processesOf,
  signal,
  type Target,
} from './processes.ts'

/** A gateway on embedded stores of its own, through as many lives as it takes. */

const START_TIMEOUT_MS = 240_000
const COMMAND_TIMEOUT_MS = 300_000
const TAIL_LINES = 25
/** Longer than a gateway takes that is busy and gives up. */
const END_TIMEOUT_MS = 75_000
const run = promisify(execFile)
/** Targets that are below the gateway whoever keeps its stores. */
const withoutStores: ReadonlySet<Target> = new Set(['gateway', 'projector', 'everything'])

/** Tokens and tenant of the first start. */
export interface Demo {
  readonly modelToken: string
  readonly profileToken: string
  readonly queryToken: string
  readonly adminToken: string
  readonly tenantId: string
}

interface LifeOptions {
  /** `name` or `name:n` of `src/app/crash-points.ts`. */
  readonly crashAt?: string | undefined
  /** How far ahead of ours the gateway's clock goes. */
  readonly clockAheadMs?: number
}

interface Life {
  readonly process: ChildProcess
  readonly pid: number
  readonly ended: Promise<string>
  readonly tail: readonly string[]
}

/** Stores that the gateway is given instead of its own. */
export interface MachineStores {
  readonly eventStoreUrl: string
  readonly databaseUrl: string
  /** Kills what of them a target stands for; returns the processes it struck. */
  readonly kill: (target: Target) => readonly number[]
}

interface MachineOptions {
  readonly build: Product
  readonly dataDir: string
  readonly logFile: string
  /** Unset: it starts its own. */
  readonly stores?: MachineStores
  readonly environment: Readonly<Record<string, string>>
  /** What the gateway does; all of it unless said otherwise. */
  readonly roles?: string
  /** Arguments of node itself. */
  readonly execArgv?: readonly string[]
  /** Where `setClock` says how far ahead the gateway's clock is, while it runs; none: it is not set. */
  readonly clockFile?: string
}

/** How often a gateway whose clock can be set looks at how it is. */
const CLOCK_LOOK_MS = 50

/** `Date` ahead of the machine's, for whatever the process that loads it asks. */
function clockAhead(byMs: number, clockFile: string | undefined): string {
  const code =
    `import {readFileSync} from 'node:fs';const R=Date;let s=0;` +
    `globalThis.Date=class extends R{constructor(...a){if(a.length)super(...a);else super(Date.now())}` +
    `static now(){return R.now()+${byMs}+s}};` +
    (clockFile === undefined
      ? ''
      : `const look=()=>{try{s=Number(readFileSync(${JSON.stringify(clockFile)},'utf8'))}catch{}};` +
        `look();setInterval(look,${CLOCK_LOOK_MS}).unref()`)
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

export class Machine {
  readonly #options: MachineOptions
  readonly #log: WriteStream
  readonly #seen = new Map<string, Known>()
  /** When its lives ended, Unix milliseconds. */
  readonly deathsMs: number[] = []
  #life: Life | undefined
  #address: string | undefined

  constructor(options: MachineOptions) {
    this.#options = options
    this.#log = createWriteStream(options.logFile, { flags: 'a' })
    process.on('exit', this.#killAll)
  }

  get dataDir(): string {
    return this.#options.dataDir
  }

  /** Where the gateway answers; undefined while it is down. */
  get address(): string | undefined {
    return this.#address
  }

  /** Resolves with how the present life ended; at once when there is none. */
  get ended(): Promise<string> {
    return this.#life?.ended ?? Promise.resolve('not running')
  }

  get pid(): number | undefined {
    return this.#life?.pid
  }

  /** Sets the clock of the running gateway, and of those after it, this far ahead of ours, or behind. */
  async setClock(aheadMs: number): Promise<void> {
    const { clockFile } = this.#options
    if (clockFile === undefined) throw new Error('the clock of this machine cannot be set')
    await writeFile(clockFile, String(aheadMs))
    await sleep(4 * CLOCK_LOOK_MS)
  }

  async demo(): Promise<Demo> {
    return JSON.parse(await readFile(join(this.#options.dataDir, 'demo.json'), 'utf8')) as Demo
  }

  /** Where the stores of the running gateway are. */
  async runtime(): Promise<{ readonly eventStoreUrl: string; readonly databaseUrl: string }> {
    if (this.#options.stores !== undefined) return this.#options.stores
    const text = await readFile(join(this.#options.dataDir, 'runtime.json'), 'utf8')
    return JSON.parse(text) as { eventStoreUrl: string; databaseUrl: string }
  }

  /**
   * Starts a life. `ready` once it serves; `ended` when it ended before that, which a crash point
   * may bring about. @throws when it does neither in time
   */
  async start(options: LifeOptions = {}): Promise<'ready' | 'ended'> {
    const { build, dataDir, environment, roles, execArgv = [], clockFile } = this.#options
    const { clockAheadMs } = options
    const args = [
      ...execArgv,
      ...(clockAheadMs === undefined && clockFile === undefined
        ? []
        : [clockAhead(clockAheadMs ?? 0, clockFile)]),
      build.main,
      'serve',
      ...(roles === undefined ? [] : ['--role', roles]),
    ]
    const child = spawn(...bare(process.execPath, args), {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Where nobody keeps a `.env` of real stores.
      cwd: dirname(build.main),
      env: {
        ...bareEnvironment(),
        PORT: '0',
        ...environment,
        DATA_DIR: dataDir,
        ...(options.crashAt === undefined ? {} : { TOLLGATE_CRASH_AT: options.crashAt }),
      },
    })
    const tail: string[] = []
    let onReady: (address: string) => void = () => undefined
    const ready = new Promise<string>((resolve) => {
      onReady = resolve
    })
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        this.#log.write(`${line}\n`)
        tail.push(line.slice(0, 500))
        if (tail.length > TAIL_LINES) tail.shift()
        const address = readyAddress(line)
        if (address !== undefined) onReady(address)
      })
    const ended = once(child, 'exit').then(([code, name]) => {
      this.#address = undefined
      this.deathsMs.push(Date.now())
      return name === null ? `exited with status ${String(code)}` : `ended by ${String(name)}`
    })
    this.#life = { process: child, pid: child.pid ?? 0, ended, tail }
    this.#log.write(`--- life of ${child.pid ?? 0}: ${JSON.stringify(options)}\n`)
    const late = new AbortController()
    const first = await Promise.race([
      ready,
      ended.then(() => 'ended' as const),
      sleep(START_TIMEOUT_MS, 'late' as const, { signal: late.signal }),
    ])
    late.abort()
    if (first === 'late') throw new Error(`the gateway did not become ready:\n${tail.join('\n')}`)
    if (first === 'ended') return 'ended'
    this.#address = first
    this.#note()
    return 'ready'
  }

  /** The last lines of the present life, for an explanation. */
  tail(): string {
    return this.#life?.tail.join('\n') ?? ''
  }

  /** Kills without warning. Returns the processes it struck; empty when the target is not there. */
  kill(target: Target): readonly number[] {
    this.#note()
    const { stores } = this.#options
    const isOurs = stores === undefined || withoutStores.has(target)
    const ours = isOurs ? this.processes(target).filter((pid) => signal(pid, 'SIGKILL')) : []
    const struck = [
      ...ours,
      ...(target === 'gateway' || target === 'projector' ? [] : (stores?.kill(target) ?? [])),
    ]
    if (struck.length > 0 && (target === 'gateway' || target === 'everything'))
      this.#address = undefined
    return struck
  }

  /** The processes of the present life that a target stands for. */
  processes(target: Target): readonly number[] {
    if (this.#life === undefined) return []
    if (target === 'postgres') return postmastersBelow(this.dataDir)
    return processesOf(this.#life.pid, target)
  }

  /** Asks for an end in order. @throws when it takes too long or fails */
  async stop(): Promise<void> {
    const life = this.#life
    if (life === undefined) return
    this.#note()
    signal(life.pid, 'SIGTERM')
    const how = await Promise.race([
      life.ended,
      sleep(END_TIMEOUT_MS, 'nothing yet', { ref: false }),
    ])
    this.#life = undefined
    if (how === 'exited with status 0') return
    throw new Error(`asked to stop, the gateway ${how}:\n${life.tail.join('\n')}`)
  }

  /** Runs a command of the command line beside the gateway. */
  async command(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly exitCode: number; readonly output: string }> {
    const { build, dataDir } = this.#options
    const env = {
      ...bareEnvironment(),
      ...this.#options.environment,
      ...environment,
      DATA_DIR: dataDir,
    }
    const cwd = dirname(build.main)
    const options = { cwd, env, timeout: COMMAND_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 }
    try {
      const { stdout, stderr } = await run(
        ...bare(process.execPath, [build.main, ...args]),
        options,
      )
      return { exitCode: 0, output: `${stdout}${stderr}` }
    } catch (error) {
      if (!(error instanceof Error) || !('stdout' in error) || !('stderr' in error)) throw error
      const code = 'code' in error && typeof error.code === 'number' ? error.code : -1
      return { exitCode: code, output: `${String(error.stdout)}${String(error.stderr)}` }
    }
  }

  /** Processes of any life that are still there; for after the last one. */
  leftOver(): readonly number[] {
    return [...this.#seen.values()].filter(isAlive).map(({ pid }) => pid)
  }

  /** Ends whatever is left, however the run went. */
  async clear(): Promise<void> {
    const life = this.#life
    this.#killAll()
    process.off('exit', this.#killAll)
    this.#life = undefined
    if (life !== undefined) await life.ended
    this.#log.end()
  }

  /** Also when this process is told to end: nothing of a run outlives it. */
  readonly #killAll = (): void => {
    this.#note()
    for (const pid of this.leftOver()) signal(pid, 'SIGKILL')
  }

  #note(): void {
    for (const pid of this.processes('everything')) {
      const known = identify(pid)
      this.#seen.set(`${pid} ${known.started}`, known)
    }
  }
}

function readyAddress(line: string): string | undefined {
  if (!line.includes('"msg":"ready"') || line.includes('"child"')) return undefined
  const { address } = JSON.parse(line) as { readonly address?: string }
  return address
}
