import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Client } from 'pg'
import { type Config, ConfigError } from '../config.ts'
import { openClient } from '../eventlog/log/connection.ts'
import { owned } from '../platform/owned.ts'
import { messageOf } from './explain.ts'

/** The addresses of external stores, checked before any store is asked. No message repeats one: they hold passwords. */

const ENCODE =
  'percent-encode special characters of the user name and the password: ' +
  '# as %23, / as %2F, ? as %3F, @ as %40, : as %3A, % as %25'
/** Members of a URL that name a file with a certificate, and with a key. */
const CERTIFICATES = ['tlsCAFile', 'userCertFile', 'sslrootcert', 'sslcert']
const KEYS = ['userKeyFile', 'sslkey']
const MAX_PORT = 65_535

type StoreUrls = NonNullable<Config['external']>

/** @throws ConfigError naming the variable of each fault */
export function requireStoreUrls(external: StoreUrls): void {
  const { databaseUrl, eventStoreUrl } = external
  const faults = [
    endsEarly(databaseUrl)
      ? `DATABASE_URL cannot be read: ${ENCODE}`
      : faultOf('DATABASE_URL', databaseUrl, (url) => owned(new Client(url))),
    faultOf('EVENTSTORE_URL', eventStoreUrl, openClient),
  ].flatMap((fault) => fault ?? [])
  if (faults.length > 0) throw new ConfigError(faults)
}

/** Hosts that only programs of this machine reach. */
const LOOPBACK = /^(?:127(?:\.\d+){3}|localhost|\[::1\]|::1)$/

/** Warns of each URL whose password travels in clear text to another machine. */
export function storeUrlWarnings({ databaseUrl, eventStoreUrl }: StoreUrls): readonly string[] {
  const { host, password, ssl } = owned(new Client(databaseUrl))
  const [, account, hosts = ''] = /:\/\/([^/?]*@)?([^/?]*)/.exec(eventStoreUrl) ?? []
  const isPlain = new URLSearchParams(eventStoreUrl.split('?')[1]).get('tls') === 'false'
  const isFar = (names: readonly string[]): boolean => names.some((name) => !LOOPBACK.test(name))
  const postgresIsFar = !host.startsWith('/') && isFar([host])
  const logIsFar = isFar(hosts.split(',').map((one) => one.replace(/:\d+$/, '')))
  return [
    ...(password && !ssl && postgresIsFar
      ? [clearText('DATABASE_URL', 'sslmode=verify-full')]
      : []),
    ...(account?.includes(':') === true && isPlain && logIsFar
      ? [clearText('EVENTSTORE_URL', 'tls=true')]
      : []),
  ]
}

function clearText(name: string, remedy: string): string {
  return `${name} sends its password without TLS to another machine: use ${remedy}`
}

function faultOf(name: string, url: string, parse: (url: string) => unknown): string | undefined {
  const [address = '', members = ''] = url.split('?', 2)
  const behind = address.slice(Math.max(address.lastIndexOf('@'), address.indexOf('://') + 2) + 1)
  const [hosts = ''] = behind.split('/', 1)
  const ports = hosts.split(',').map((host) => /:([^:\]]*)$/.exec(host)?.[1])
  if (ports.some((port) => port !== undefined && !isPort(port)))
    return `${name} has a port that is not a number from 1 to ${MAX_PORT}; if the password has special characters, ${ENCODE}`
  const file = faultOfFile(new URLSearchParams(members))
  if (file !== undefined) return `${name}: ${file}`
  try {
    parse(url)
    return undefined
  } catch {
    return `${name} cannot be read: ${ENCODE}`
  }
}

/** Whether a mark in the password ends what Postgres's client takes for the host; it would ask another one. */
function endsEarly(url: string): boolean {
  const rest = url.slice(url.indexOf('://') + 3)
  const [authority = ''] = rest.split(/[/?#]/, 1)
  const mark = rest[authority.length]
  const behind = rest.slice(authority.length)
  if (mark === '#') return true
  if (authority.includes('@') || !authority.includes(':')) return false
  return (mark === '/' ? (behind.split('?', 1)[0] ?? '') : behind).includes('@')
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) > 0 && Number(text) <= MAX_PORT
}

/** The first file of a URL that cannot be read, or holds no certificate. */
function faultOfFile(members: URLSearchParams): string | undefined {
  for (const name of [...CERTIFICATES, ...KEYS]) {
    const path = members.get(name)
    if (path === null || path === '') continue
    try {
      const bytes = readFileSync(path)
      if (CERTIFICATES.includes(name)) void new X509Certificate(bytes).raw
    } catch (error) {
      const isRead = !(error instanceof Error && 'syscall' in error)
      const why = isRead ? 'it has no certificate in PEM format' : messageOf(error)
      return `${name} names ${path}, which cannot be used: ${why}`
    }
  }
  return undefined
}
