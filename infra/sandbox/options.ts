import type { ResolveHost } from '../../src/kernel/public-url.ts'
import { resolveByDns } from '../../src/platform/resolve-host.ts'

/** How a sandbox runs; the defaults are those of `defaultOptions`. */
export interface SandboxOptions {
  /** Address to listen on. */
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** Where accepted tasks are kept over a restart; null: in memory. */
  readonly dataDirectory: string | null
  /** Factor on the default queue and run times, on the execution expiry and on callback retry pauses. */
  readonly timeScale: number
  /** Seed of ids, of seeds in answers and of fault dice; null: a new one each start, so that ids of two sandboxes differ. */
  readonly seed: number | null
  /** Where result URLs point; null: the address it listens on. */
  readonly publicUrl: string | null
  /** Credentials that are let in; empty: any. */
  readonly apiKeys: readonly string[]
  /** Further model names it knows, `*` standing for any text. */
  readonly models: readonly string[]
  /** Host name of a callback URL to the origin that receives it instead. */
  readonly callbackMap: ReadonlyMap<string, string>
  /** How hosts of callback URLs that are not in `callbackMap` are resolved; only public ones are called. */
  readonly resolveHost: ResolveHost
  readonly callbackTimeoutMs: number
  readonly queuedMs: number
  readonly runningMs: number
  readonly maxTasks: number
  readonly retentionMs: number
  readonly cancelledRetentionMs: number
  /** Life of a result URL, in seconds. */
  readonly urlSeconds: number
  readonly maxDownloads: number
  /** How far the date of a signed request may be from the machine's clock. */
  readonly signatureSkewMs: number
  readonly logLevel: string
}

/** What holds unless said otherwise. */
export const defaultOptions: SandboxOptions = {
  host: '127.0.0.1',
  port: 0,
  dataDirectory: null,
  timeScale: 1,
  seed: null,
  publicUrl: null,
  apiKeys: [],
  models: [],
  callbackMap: new Map(),
  resolveHost: resolveByDns,
  callbackTimeoutMs: 5000,
  queuedMs: 1000,
  runningMs: 4000,
  maxTasks: 200_000,
  retentionMs: 7 * 86_400_000,
  cancelledRetentionMs: 86_400_000,
  urlSeconds: 86_400,
  maxDownloads: 100,
  signatureSkewMs: 300_000,
  logLevel: 'info',
}

/** Whether a model is among those the options add to the sandbox's own. */
export function knownTo({ models }: Pick<SandboxOptions, 'models'>, name: string): boolean {
  return models.some((pattern) => {
    const source = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '.*')
    return new RegExp(`^${source}$`).test(name)
  })
}

/** A command line that cannot be run. */
export class OptionError extends Error {
  readonly code = 'invalid_option'
}

function numberOf(name: string, value: string, min: number, max: number): number {
  const number = Number(value)
  if (value.trim() === '' || !(number >= min && number <= max)) {
    throw new OptionError(`--${name} must be a number from ${min} to ${max}`)
  }
  return number
}

function integerOf(name: string, value: string, min: number, max: number): number {
  const number = numberOf(name, value, min, max)
  if (!Number.isSafeInteger(number)) throw new OptionError(`--${name} must be a whole number`)
  return number
}

/** `host=http://127.0.0.1:PORT`. @throws OptionError */
function parseCallbackMapping(text: string): readonly [string, string] {
  const equals = text.indexOf('=')
  const host = text.slice(0, Math.max(0, equals)).trim().toLowerCase()
  const target = text.slice(equals + 1)
  if (host === '' || !URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol)) {
    throw new OptionError('--callback-map must be host=http://address:port')
  }
  return [host, new URL(target).origin]
}

type Writable = { -readonly [K in keyof SandboxOptions]: SandboxOptions[K] }
type Reader = (options: Writable, value: string, name: string) => void
/** The options a value of some type may be given to. */
type Taking<Value> = {
  [K in keyof Writable]: Value extends Writable[K] ? K : never
}[keyof Writable]

const text =
  (key: Taking<string>): Reader =>
  (options, value) =>
    (options[key] = value)
const integer =
  (key: Taking<number>, min: number, max: number): Reader =>
  (options, value, name) =>
    (options[key] = integerOf(name, value, min, max))

const YEAR_MS = 31_536_000_000
const WEEK_MS = 604_800_000

const READERS: Readonly<Record<string, Reader>> = {
  host: text('host'),
  port: integer('port', 0, 65_535),
  data: text('dataDirectory'),
  'time-scale': (options, value, name) =>
    (options.timeScale = numberOf(name, value, 0.000_001, 1000)),
  seed: integer('seed', 0, 4_294_967_295),
  'public-url': (options, value) => {
    if (!URL.canParse(value)) throw new OptionError('--public-url must be a URL')
    options.publicUrl = value.replace(/(?<!\/)\/+$/, '')
  },
  'api-key': (options, value) => (options.apiKeys = [...options.apiKeys, value]),
  model: (options, value) => (options.models = [...options.models, value]),
  'callback-map': (options, value) =>
    (options.callbackMap = new Map([...options.callbackMap, parseCallbackMapping(value)])),
  'callback-timeout-ms': integer('callbackTimeoutMs', 1, 60_000),
  'queued-ms': integer('queuedMs', 0, WEEK_MS),
  'running-ms': integer('runningMs', 0, WEEK_MS),
  'max-tasks': integer('maxTasks', 1, 5_000_000),
  'retention-ms': integer('retentionMs', 1, YEAR_MS),
  'cancelled-retention-ms': integer('cancelledRetentionMs', 1, YEAR_MS),
  'url-seconds': integer('urlSeconds', 1, 31_536_000),
  'max-downloads': integer('maxDownloads', 1, 1_000_000),
  'signature-skew-ms': integer('signatureSkewMs', 0, YEAR_MS),
  'log-level': text('logLevel'),
}

/** Reads a command line, `--name value` or `--name=value`. @throws OptionError naming the fault. */
export function parseOptions(args: readonly string[]): SandboxOptions {
  const options: Writable = { ...defaultOptions }
  for (let i = 0; i < args.length; i += 1) {
    const [flag, inline] = splitFlag(args[i] ?? '')
    const name = flag.slice(2)
    const read = flag.startsWith('--') ? READERS[name] : undefined
    if (read === undefined) throw new OptionError(`unknown option ${flag}`)
    let value = inline
    if (value === undefined) {
      i += 1
      value = args[i]
    }
    if (value === undefined) throw new OptionError(`${flag} needs a value`)
    read(options, value, name)
  }
  return options
}

function splitFlag(text: string): readonly [string, string | undefined] {
  const equals = text.indexOf('=')
  return equals < 0 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)]
}
