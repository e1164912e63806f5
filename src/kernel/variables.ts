import { isIP } from 'node:net'
import { canonicalRange } from './address-ranges.ts'
import { type DailyTime, readDailyTime } from './daily-time.ts'
import { readTrustedTarget, type TrustedTarget } from './trusted-targets.ts'

/** Variables of the environment, each declared once: its name, type, default and help. */

export type Environment = Readonly<Record<string, string | undefined>>

/** The text of a variable, or its default. */
export interface Given {
  readonly name: string
  /** Empty: it has no value. */
  readonly text: string
  /** Where what is wrong with it is added. */
  readonly faults: string[]
}

/** How the text of a variable is read. */
export type VariableType<T> = (given: Given) => T

interface Described {
  /** Absent: without the variable there is no value. */
  readonly fallback?: string
  /** One line for people. */
  readonly help: string
  readonly secret?: true
}

export interface Variable<T = unknown> extends Described {
  readonly name: string
  readonly type: VariableType<T>
}

/** Variables by the names that the program has for their values, also in groups. */
export interface Variables {
  readonly [name: string]: Variable | Variables
}

/** The values of variables, in the same groups. */
export type Values<T> = {
  readonly [K in keyof T]: T[K] extends Variable<infer V> ? V : Values<T[K]>
}

export const variable = <T>(
  name: string,
  type: VariableType<T>,
  described: Described,
): Variable<T> => ({ name, type, ...described })

export const text: VariableType<string> = (given) => given.text

export const optional =
  <T>(type: VariableType<T>): VariableType<T | undefined> =>
  (given) =>
    given.text === '' ? undefined : type(given)

export const oneOf =
  (...allowed: readonly string[]): VariableType<string> =>
  ({ name, text: value, faults }) => {
    if (!allowed.includes(value)) faults.push(`${name} must be one of ${allowed.join(', ')}`)
    return value
  }

/** Any number from `min` to `max`. */
export const decimal =
  (min: number, max: number, isWhole = false): VariableType<number> =>
  ({ name, text: value, faults }) => {
    const number = Number(value)
    const ok = number >= min && number <= max && (!isWhole || Number.isInteger(number))
    const kind = isWhole ? 'a whole number' : 'a number'
    if (!ok) faults.push(`${name} must be ${kind} from ${min} to ${max}`)
    return number
  }

export const whole = (min: number, max: number): VariableType<number> => decimal(min, max, true)

/** A time of each day, or `off`. */
export function dailyTimeOrOff({ name, text: given, faults }: Given): DailyTime | 'off' {
  const read = given === 'off' ? given : readDailyTime(given)
  if (typeof read !== 'string' || read === 'off') return read
  faults.push(`${name}: ${read}; or off`)
  return 'off'
}

/** Entries between commas, without the empty ones. */
export const entriesOf = (list: string): readonly string[] =>
  list.split(',').flatMap((entry) => entry.trim() || [])

/** An address to listen on. */
export function hostAddress({ name, text: given, faults }: Given): string {
  if (given !== 'localhost' && isIP(given) === 0)
    faults.push(`${name} must be an IP address or localhost`)
  // By the name, the framework opens a second server for the other address, without our bounds.
  return given === 'localhost' ? '127.0.0.1' : given
}

/** Names of any form, comma-separated. */
export function names({ text: list }: Given): readonly string[] {
  return entriesOf(list)
}

/** The address of a provider: https, or http on this machine, for a test. */
export function issuerUrl({ name, text: given, faults }: Given): string {
  const url = URL.canParse(given) ? new URL(given) : undefined
  const isLocal = url !== undefined && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
  const isPlain =
    url !== undefined && `${url.username}${url.password}${url.search}${url.hash}` === ''
  if (!isPlain || !(url.protocol === 'https:' || (url.protocol === 'http:' && isLocal)))
    faults.push(
      `${name} must be an https:// address without a query, such as https://login.example.com`,
    )
  return given
}

/** Names of hosts, comma-separated. */
export function hostNames({ name, text: list, faults }: Given): readonly string[] {
  const given = entriesOf(list).map((entry) => entry.toLowerCase())
  for (const entry of given)
    if (!/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(entry))
      faults.push(`${name}: ${entry} is no name of a host such as gateway.internal`)
  return given
}

/** Ranges of addresses (CIDR), comma-separated. */
export function addressRanges({ name, text: list, faults }: Given): readonly string[] {
  const given = entriesOf(list)
  for (const entry of given)
    if (canonicalRange(entry) === undefined)
      faults.push(`${name}: ${entry} is no address and no range such as 10.0.0.0/8`)
  return given
}

/** Targets that are trusted though they are private, comma-separated. */
export function trustedTargets({ name, text: list, faults }: Given): readonly TrustedTarget[] {
  return entriesOf(list).flatMap((entry) => {
    const target = readTrustedTarget(entry)
    if (target !== undefined) return [target]
    faults.push(
      `${name}: ${entry} is no origin with a path or a tenant, such as http://alerts.internal:8080/low or acme=http://alerts.internal:8080`,
    )
    return []
  })
}

const isVariable = (one: Variable | Variables): one is Variable => typeof one['type'] === 'function'

/** All of them without their groups, in the order in which they are declared. */
export function listOf(variables: Variables): readonly Variable[] {
  return Object.values(variables).flatMap((one) => (isVariable(one) ? [one] : listOf(one)))
}

/** The text of a variable, or its default. */
export function textOf({ name, fallback = '' }: Variable, env: Environment): string {
  return env[name]?.trim() || fallback
}

/** Reads variables, and adds what is wrong with them to `faults`. */
export function valuesOf<T extends Variables>(
  variables: T,
  env: Environment,
  faults: string[],
): Values<T> {
  const values = Object.entries(variables).map(([key, one]) => [
    key,
    isVariable(one)
      ? one.type({ name: one.name, text: textOf(one, env), faults })
      : valuesOf(one, env, faults),
  ])
  return Object.fromEntries(values) as Values<T>
}
