/**
 * Names of objects. The first part is what they are for, results also say when they were made, and
 * the ending says what bytes they are: so a purge needs no table and a server no other file. The
 * store puts the gateway's namespace before them (`namespaced.ts`).
 */

/** What can be given away under a name with an ending; anything else is plain bytes. */
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
/** What a result's URL lives, and what a result is kept for at least. */
export const RESULT_LIFE_MS = 24 * HOUR_MS

const MAX_KEY_LENGTH = 256
/** No part begins with a dot: none can lead up or hide. */
const keyPattern = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9_.-]*){1,3}$/

export const RESULTS = 'results/'
export const PAYLOADS = 'payloads/'
export const FILES = 'files/'

export function isObjectKey(text: string): boolean {
  return text.length <= MAX_KEY_LENGTH && keyPattern.test(text)
}

/** @throws RangeError for what is no key */
export function checkObjectKey(key: string): void {
  if (!isObjectKey(key)) throw new RangeError('not a key of an object')
}

/** As HTTP names it. */
export function contentTypeOf(key: string): string {
  const ending = /\.([a-z0-9]+)$/.exec(key)?.[1]
  return (ending === undefined ? undefined : contentTypeByEnding[ending]) ?? PLAIN_BYTES
}

function hourOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 'YYYY-MM-DDTHH'.length)
}

/** Of a result. `unguessable`: random, as of `newSecret('')`. */
export function resultKey(nowMs: number, unguessable: string, contentType: string): string {
  const found = Object.entries(contentTypeByEnding).find(([, type]) => type === contentType)
  const ending = found === undefined ? '' : `.${found[0]}`
  return `${RESULTS}${hourOf(nowMs)}/${unguessable}${ending}`
}

/** Results with keys below this were all made before that time. */
export function resultsMadeBefore(unixMs: number): string {
  return `${RESULTS}${hourOf(unixMs)}`
}

const resultPattern = /^results\/(\d{4}-\d\d-\d\dT\d\d)\/[\w-]{40,}(?:\.[a-z0-9]+)?$/

/**
 * When the hour began that a result was made in, Unix milliseconds; undefined for any key that is
 * no result.
 */
export function resultHourMs(key: string): number | undefined {
  const hour = resultPattern.exec(key)?.[1]
  const beganMs = hour === undefined ? Number.NaN : Date.parse(`${hour}:00:00Z`)
  return Number.isNaN(beganMs) ? undefined : beganMs
}

/** Of what a task that is still to be submitted was asked with. */
export function payloadKey(platformId: string): string {
  return `${PAYLOADS}${platformId}`
}

/** Of a file a tenant uploaded. */
export function fileKey(fileId: string): string {
  return `${FILES}${fileId}`
}
