import { nearestAmong } from './nearest-name.ts'
import { TimeZone } from './time-zone.ts'

/** Reads names of time zones. */

/**
 * The names people mean by abbreviations that the zone database knows differently or not at all: it
 * takes `CST` for Chicago's, and libraries take `BST` for Dhaka's.
 */
const meant: Readonly<Record<string, string>> = {
  AEST: 'Australia/Sydney',
  BST: 'Europe/London',
  CEST: 'Europe/Berlin',
  CET: 'Europe/Berlin',
  CST: 'America/Chicago` or `Asia/Shanghai',
  EET: 'Europe/Helsinki',
  EST: 'America/New_York',
  EDT: 'America/New_York',
  GMT: 'UTC',
  HKT: 'Asia/Hong_Kong',
  IST: 'Asia/Kolkata',
  JST: 'Asia/Tokyo',
  KST: 'Asia/Seoul',
  MSK: 'Europe/Moscow',
  MST: 'America/Denver',
  PDT: 'America/Los_Angeles',
  PST: 'America/Los_Angeles',
  SGT: 'Asia/Singapore',
  UCT: 'UTC',
  WET: 'Europe/Lisbon',
  Z: 'UTC',
  ZULU: 'UTC',
}

/** A zone, or the message of its refusal, which follows the name of the member. */
export type ReadZone = { readonly zone: TimeZone } | { readonly fault: string }

/**
 * Reads the name of a zone: `UTC`, or a name of the IANA database with a slash in it. An
 * abbreviation means several zones, and one without summer time as often as not.
 */
export function readZone(name: string): ReadZone {
  const zone = name === 'UTC' || name.includes('/') ? knownZone(name) : undefined
  if (zone !== undefined) return { zone }
  const likely = likelyZone(name)
  const hint = likely === undefined ? '' : `: did you mean \`${likely}\`?`
  return { fault: `must be UTC or a zone of the IANA database, such as Asia/Kolkata${hint}` }
}

function knownZone(name: string): TimeZone | undefined {
  try {
    return TimeZone.named(name)
  } catch {
    return undefined
  }
}

/** The zone that was probably meant by an unknown name. */
function likelyZone(name: string): string | undefined {
  const upper = name.toUpperCase()
  if (upper === 'UTC') return 'UTC'
  if (Object.hasOwn(meant, upper)) return meant[upper]
  const zones = Intl.supportedValuesOf('timeZone').filter((zone) => zone.includes('/'))
  const letters = upper.replaceAll(' ', '_')
  const ofCity = zones.find((zone) => zone.toUpperCase().endsWith(`/${letters}`))
  return ofCity ?? renamed(name) ?? nearestAmong(zones)(name)
}

/** Older names, such as `Japan`, are links of the database to others. */
function renamed(name: string): string | undefined {
  if (knownZone(name) === undefined) return undefined
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
  return timeZone.includes('/') ? timeZone : undefined
}
