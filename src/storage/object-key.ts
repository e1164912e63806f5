import { readTime } from '../kernel/read-time.ts'
/**
 * Names of objects. The first part is their purpose, results also have their time of creation, and
 * the ending is the type of the bytes: so a purge needs no table, and a server needs no other file.
 * The store puts the gateway's namespace before them (`namespaced-objects.ts`).
 */

/** The media types that have an ending; anything else is served as plain bytes. */
const contentTypeByEnding: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  zip: 'application/zip',
}
const PLAIN_BYTES = 'application/octet-stream'

const HOUR_MS = 3_600_000
/** Validity of a result's URL, and the shortest time for which a result is kept. */
export const RESULT_LIFE_MS = 24 * HOUR_MS

const MAX_KEY_LENGTH = 256
/** No part begins with a dot, so no key can leave the folder or be hidden. */
const keyPattern = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*){1,3}$/

export const RESULTS = 'results/'
export const PAYLOADS = 'payloads/'
export const FILES = 'files/'

export function isObjectKey(text: string): boolean {
  return text.length <= MAX_KEY_LENGTH && keyPattern.test(text)
}

/** @throws RangeError if the text is no key */
export function checkObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new RangeError('not a key of an object')
}

/** Media type, as in HTTP. */
export function contentTypeOf(key: string): string {
  const ending = /\.([a-z0-9]+)$/.exec(key)?.[1]
  return (ending === undefined ? undefined : contentTypeByEnding[ending]) ?? PLAIN_BYTES
}

function hourOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 'YYYY-MM-DDTHH'.length)
}

/** The key of a result. `unguessable` is random, such as `newSecret('')`. */
export function resultKey(nowMs: number, unguessable: string, contentType: string): string {
  const found = Object.entries(contentTypeByEnding).find(([, type]) => type === contentType)
  const ending = found === undefined ? '' : `.${found[0]}`
  return `${RESULTS}${hourOf(nowMs)}/${unguessable}${ending}`
}

/** All results whose keys sort before this one were made before that time. */
export function resultsMadeBefore(unixMs: number): string {
  return `${RESULTS}${hourOf(unixMs)}`
}

const resultPattern = /^results\/(\d{4}-\d\d-\d\dT\d\d)\/[\w-]{40,}(?:\.[a-z0-9]+)?$/

/**
 * The beginning of the hour in which a result was made, Unix milliseconds; undefined for a key of
 * no result.
 */
export function resultHourMs(key: string): number | undefined {
  const hour = resultPattern.exec(key)?.[1]
  return hour === undefined ? undefined : readTime(`${hour}:00:00Z`)
}

/** The key of the payload of a task that is not submitted yet. */
export function payloadKey(platformId: string): string {
  return `${PAYLOADS}${platformId}`
}

/** The key of a file that a tenant uploaded. */
export function fileKey(fileId: string): string {
  return `${FILES}${fileId}`
}
