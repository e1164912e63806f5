import { Buffer } from 'node:buffer'
import { buffer } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { createSealedObjects, type SealedObjects } from '../../../storage/sealed-objects.ts'
import type { KeptAnswer } from './types.ts'
import { owned } from '../../../platform/owned.ts'

/** Answers stored beside their claims, encrypted: a head in JSON, a line break, the body. */

/** A larger answer is not stored: keys live a day, and the database has all their answers. */
export const MAX_KEPT_ANSWER_BYTES = 1024 * 1024

const LINE_BREAK = 0x0a

/** A store for one object. */
function sealedIn(held: { bytes: Buffer | undefined }, secret: string): SealedObjects {
  const store = {
    put: async (_key: string, body: Readable | Uint8Array) => {
      held.bytes = body instanceof Readable ? await buffer(body) : Buffer.from(body)
    },
    open: (key: string) => {
      const { bytes } = held
      if (bytes === undefined) return Promise.resolve(undefined)
      const body = owned(Readable.from([bytes]))
      return Promise.resolve({ body, sizeBytes: bytes.length, contentType: key })
    },
  }
  return createSealedObjects(store, secret, 'call-answer')
}

/** Bound to its call: one call's answer cannot replace another's. */
export async function sealAnswer(
  secret: string,
  callId: string,
  { status, headers, body }: KeptAnswer,
): Promise<Buffer | undefined> {
  const held: { bytes: Buffer | undefined } = { bytes: undefined }
  const head = Buffer.from(`${JSON.stringify({ status, headers })}\n`)
  await sealedIn(held, secret).put(callId, Buffer.concat([head, body]))
  return held.bytes
}

/** @throws DomainError `storage_unavailable` for bytes not sealed under this id and secret */
export async function openAnswer(
  secret: string,
  callId: string,
  bytes: Buffer,
): Promise<KeptAnswer | undefined> {
  const opened = await sealedIn({ bytes }, secret).open(callId)
  if (opened === undefined) return undefined
  const whole = await buffer(opened)
  const end = whole.indexOf(LINE_BREAK)
  // The gateway sealed it, so it has this shape.
  const head = JSON.parse(whole.toString('utf8', 0, end)) as Omit<KeptAnswer, 'body'>
  return { ...head, body: whole.subarray(end + 1) }
}
