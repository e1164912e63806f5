import { storageVariables } from './storage/settings.ts'

interface Variable {
  readonly name: string
  readonly fallback: string
  readonly says: string
  readonly secret?: boolean
}

/** Every variable the program reads, with its default; `tollgate config` and `.env.example` show it. */
export const variables: readonly Variable[] = [
  { name: 'PORT', fallback: '8080', says: 'port of the HTTP API; 0 picks a free one' },
  { name: 'HOST', fallback: '127.0.0.1', says: 'address to listen on; 0.0.0.0 for all' },
  {
    name: 'OPERATIONS_PORT',
    fallback: '',
    says: 'port of /readyz, /metrics and /healthz, on the same address; unset: they are on PORT',
  },
  {
    name: 'DATA_DIR',
    fallback: './data',
    says: 'folder of the embedded stores, demo.json, local objects and the spool; each start closes it to other accounts',
  },
  {
    name: 'EVENTSTORE_URL',
    fallback: '',
    says: 'esdb:// connection string; unset with DATABASE_URL: embedded',
    secret: true,
  },
  {
    name: 'DATABASE_URL',
    fallback: '',
    says: 'postgres:// connection string; unset with EVENTSTORE_URL: embedded',
    secret: true,
  },
  {
    name: 'EVENTSTORE_NAMESPACE',
    fallback: 'tollgate.',
    says: 'prefix of every stream name: letters, digits, _ - and one dot at the end',
  },
  {
    name: 'CHANNELS_FILE',
    fallback: '',
    says: 'YAML file of upstream accounts; required with external stores, unset with embedded ones: the sandbox',
  },
  {
    name: 'SANDBOX',
    fallback: '',
    says: 'on: sell what the sandbox simulates, on external stores too; not with CHANNELS_FILE',
  },
  {
    name: 'PRICEBOOK_FILE',
    fallback: '',
    says: 'YAML price book to publish at start; unset: the shipped one',
  },
  {
    name: 'MARKER_SECRET',
    fallback: '',
    says: 'key of the hashes sent upstream to recognise our tasks, of the response ids and object URLs callers get; required with external stores, at least 32 characters, the same on every replica',
    secret: true,
  },
  { name: 'LOG_LEVEL', fallback: 'info', says: 'fatal, error, warn, info, debug, trace or silent' },
  {
    name: 'SHUTDOWN_DELAY_MS',
    fallback: '0',
    says: 'on SIGTERM, how long requests are still served while /readyz says no: what a proxy needs to look elsewhere',
  },
  {
    name: 'DRAIN_TIMEOUT_MS',
    fallback: '20000',
    says: 'then, longest wait for requests in flight',
  },
  {
    name: 'TRUSTED_PROXIES',
    fallback: '',
    says: 'addresses and ranges (CIDR) of the proxies whose X-Forwarded-For says who calls, comma-separated; unset: none is believed',
  },
  {
    name: 'MAX_CONNECTIONS',
    fallback: '',
    says: 'connections of callers at once; unset: half of what the limit on open files leaves, at most 10000',
  },
  {
    name: 'MAX_CONNECTIONS_PER_ADDRESS',
    fallback: '',
    says: 'of those, from one IPv4 address or IPv6 /64 that is not in TRUSTED_PROXIES; unset: a quarter',
  },
  {
    name: 'UNKNOWN_TOKENS_RPM',
    fallback: '60',
    says: 'unknown tokens a minute of one address (of IPv6 a /64) that are answered 401; more are 429 and not looked up',
  },
  {
    name: 'WEBHOOK_TRUSTED_ORIGINS',
    fallback: '',
    says: 'where webhooks may go though it is not public or not https, comma-separated, each with a path (all below it if it ends with a slash), a tenant, or both, such as acme=http://alerts.internal:8080/low; unset: nowhere',
  },
  {
    name: 'DATABASE_POOL_SIZE',
    fallback: '16',
    says: 'Postgres connections for requests and policies',
  },
  {
    name: 'DATABASE_TOKEN_SHARE',
    fallback: '0.5',
    says: 'what one token may hold of them, at most 1; the rest of what it asks for waits',
  },
  {
    name: 'QUERY_POOL_SIZE',
    fallback: '4',
    says: 'further Postgres connections, for queries of finance and support alone',
  },
  {
    name: 'QUERY_TIMEOUT_MS',
    fallback: '5000',
    says: 'longest statement of such a query; one that takes longer is refused (422)',
  },
  {
    name: 'QUERY_RATE_LIMIT_RPM',
    fallback: '600',
    says: 'such queries a minute of one query token',
  },
  {
    name: 'ACCOUNT_RATE_LIMIT_RPM',
    fallback: '600',
    says: 'requests a minute of one profile token, or of one admin token of a tenant; operators have no limit',
  },
  { name: 'SANDBOX_TIME_SCALE', fallback: '1', says: 'multiplies the sandbox’s task times' },
  { name: 'POLL_SCALE', fallback: '1', says: 'multiplies every poll interval' },
  {
    name: 'POLL_REQUESTS_PER_SECOND',
    fallback: '20',
    says: 'most polling requests a second to one channel',
  },
  {
    name: 'RATE_LIMIT_RPM',
    fallback: '',
    says: 'calls and task creations a minute of a token that has no such limit itself; unset: no limit',
  },
  {
    name: 'RATE_LIMIT_TPM',
    fallback: '',
    says: 'text tokens a minute, in and out, of such a token; unset: no limit',
  },
  {
    name: 'RATE_LIMIT_CONCURRENT_CALLS',
    fallback: '',
    says: 'synchronous calls under way of such a token; unset: no limit',
  },
  {
    name: 'RATE_LIMIT_CONCURRENT_TASKS',
    fallback: '',
    says: 'tasks not ended yet of such a token; unset: no limit',
  },
  {
    name: 'OWN_REQUESTS_RPM',
    fallback: '1200',
    says: 'looks, deletions and requests with an Idempotency-Key a minute of one model token, on each replica',
  },
  {
    name: 'FREE_DELIVERIES_PER_HOUR',
    fallback: '10',
    says: 'units of currency that one token may get an hour of answers that providers broke off, on each replica; then 429',
  },
  {
    name: 'FREE_REQUESTS_RPM',
    fallback: '300',
    says: 'uploads, changes of accounts and refused calls a minute of one token beyond those that it is billed for, on each replica',
  },
  {
    name: 'REFUSED_FORMS_RPM',
    fallback: '1200',
    says: 'requests a minute of one address (of IPv6 a /64) with one token, or without a known one, that are refused before their work begins; more are 429, on each replica',
  },
  {
    name: 'IDEMPOTENCY_KEPT_BYTES',
    fallback: '4294967296',
    says: 'bytes of answers that are kept for the keys of one tenant; Postgres takes about twice as much',
  },
  ...storageVariables,
  {
    name: 'UPLOAD_QUOTA_BYTES',
    fallback: '10737418240',
    says: 'bytes of uploads that a tenant keeps at most',
  },
  { name: 'UPLOAD_QUOTA_FILES', fallback: '10000', says: 'uploads that a tenant keeps at most' },
  {
    name: 'UPLOADS_PER_DAY',
    fallback: '20000',
    says: 'uploads that a tenant begins within a day, deleted ones too',
  },
  { name: 'UPLOAD_LIFE_DAYS', fallback: '30', says: 'what an upload lives, from its end on' },
  {
    name: 'UPLOAD_DISK_FLOOR_BYTES',
    fallback: '1073741824',
    says: 'with local stores or objects: what is not billed and keeps something is refused while DATA_DIR has less free; the spool needs up to 256 MiB',
  },
  { name: 'TOLLGATE_CRASH_AT', fallback: '', says: 'test only: die with SIGKILL at a named point' },
]

export type Environment = Readonly<Record<string, string | undefined>>

export interface Reader {
  readonly text: (name: string) => string
  readonly optional: (name: string) => string | undefined
  readonly number: (name: string, min: number, max: number, integer?: boolean) => number
  readonly optionalNumber: (name: string, min: number, max: number) => number | undefined
  readonly oneOf: (name: string, allowed: readonly string[]) => string
}

/** Reads one variable at a time and adds what is wrong with it to `faults`. */
export function readerOf(env: Environment, faults: string[]): Reader {
  const text = (name: string): string =>
    env[name]?.trim() || (variables.find((v) => v.name === name)?.fallback ?? '')
  const optional = (name: string): string | undefined => text(name) || undefined
  const number = (name: string, min: number, max: number, integer = true): number => {
    const value = Number(text(name))
    const ok = Number.isFinite(value) && value >= min && value <= max
    if (!ok || (integer && !Number.isInteger(value)))
      faults.push(
        `${name} must be ${integer ? 'a whole number' : 'a number'} from ${min} to ${max}`,
      )
    return value
  }
  return {
    text,
    optional,
    number,
    optionalNumber: (name, min, max) =>
      optional(name) === undefined ? undefined : number(name, min, max),
    oneOf: (name, allowed) => {
      if (!allowed.includes(text(name))) faults.push(`${name} must be one of ${allowed.join(', ')}`)
      return text(name)
    },
  }
}
