import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto'
import type { PeriodClosed } from '../../domain/statement/events.ts'

/**
 * Signed heads of closed months by docs/verify.md, a second time: no code is shared with what signs them
 * (`src/kernel/signed-note.ts`).
 */

const ED25519 = 1
const KEY_BYTES = 32
const ID_BYTES = 4
/** The beginning of an Ed25519 key in the form that Node reads (SPKI). */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const NAME_END = '/statements'

interface StatementKey {
  /** The host of the gateway whose statements it signs. */
  readonly issuer: string
  readonly id: Buffer
  readonly key: KeyObject
}

/** A published key by name and bytes; undefined for a text that is no key of statements. */
function keyOf(vkey: string): StatementKey | undefined {
  const [, name = '', id = '', base64 = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? []
  const typed = Buffer.from(base64, 'base64')
  if (!name.endsWith(NAME_END) || typed.length !== KEY_BYTES + 1 || typed[0] !== ED25519)
    return undefined
  const digest = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'hex')
  if (!digest.startsWith(id)) return undefined
  const der = Buffer.concat([SPKI, typed.subarray(1)])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return { issuer: name.slice(0, -NAME_END.length), id: Buffer.from(id, 'hex'), key }
}

/** The key that signed a text, among these. */
function signerOf(
  text: string,
  signatures: string,
  vkeys: readonly string[],
): StatementKey | undefined {
  const keys = vkeys.map(keyOf)
  for (const line of signatures.trimEnd().split('\n')) {
    const [, name, base64 = ''] = /^— ([^\s+]+) (\S+)$/.exec(line) ?? []
    const bytes = Buffer.from(base64, 'base64')
    const isOf = (one: StatementKey | undefined): boolean =>
      one !== undefined &&
      `${one.issuer}${NAME_END}` === name &&
      bytes.toString('base64') === base64 &&
      bytes.subarray(0, ID_BYTES).equals(one.id) &&
      verify(null, Buffer.from(text), one.key, bytes.subarray(ID_BYTES))
    const signer = keys.find(isOf)
    if (signer) return signer
  }
  return undefined
}

/**
 * Why the checkpoint of a close is not its signed head; undefined where it is.
 *
 * @param vkeys the keys that were published before
 * @param isJudged whether its origin, number of leaves and root are compared with the close, too
 */
export function headFault(
  { tenantId, currency, month, attempt, postings, root, checkpoint }: PeriodClosed,
  vkeys: readonly string[],
  isJudged: boolean,
): string | undefined {
  const [, text, signatures] = /^((?:[^\n]+\n){3})\n((?:[^\n]+\n)+)$/.exec(checkpoint) ?? []
  if (text === undefined || signatures === undefined)
    return 'the checkpoint is no signed note of three lines'
  const signer = signerOf(text, signatures, vkeys)
  if (signer === undefined)
    return 'the checkpoint is signed by none of the keys that the log published before it'
  const origin = [signer.issuer, tenantId, currency, month, attempt].join('/')
  if (!isJudged || text === `${origin}\n${postings + 1}\n${root}\n`) return undefined
  return `the signed head is ${JSON.stringify(text)}, that of the close is ${origin}, ${postings + 1} leaves, ${root}`
}
