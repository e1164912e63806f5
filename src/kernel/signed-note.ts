import { createPrivateKey, createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto'

/**
 * Signed notes (C2SP signed-note, Ed25519), and the two texts made with them: checkpoints of a tree
 * (C2SP tlog-checkpoint) and proofs that a tree has a leaf (C2SP tlog-proof).
 * @see https://c2sp.org/signed-note https://c2sp.org/tlog-checkpoint https://c2sp.org/tlog-proof
 */

/** The signature type of Ed25519, before the bytes of a key. */
const ED25519 = 1
const KEY_BYTES = 32
const ID_BYTES = 4
const HASH_BYTES = 32
const MAX_SIGNATURES = 64
/** The beginning of a key in DER: PKCS 8 of a private one, SPKI of a public one. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI = Buffer.from('302a300506032b6570032100', 'hex')

/** A key that signs notes. */
export interface NoteSigner {
  /** The public key on one line, `<name>+<id>+<key>`. */
  readonly vkey: string
  /** The note of a text, which must end in a newline. */
  readonly sign: (text: string) => string
}

/**
 * The signer whose key is made of 32 bytes, which every replica derives from the secret that they share.
 * @param name without spaces and "+"
 */
export function noteSigner(name: string, seed: Uint8Array): NoteSigner {
  const der = Buffer.concat([PKCS8, seed])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const typedKey = Buffer.concat([Buffer.of(ED25519), spki.subarray(SPKI.length)])
  const id = keyId(name, typedKey)
  return {
    vkey: `${name}+${id.toString('hex')}+${typedKey.toString('base64')}`,
    sign: (text) => {
      const signature = sign(null, Buffer.from(text), privateKey)
      return `${text}\n— ${name} ${Buffer.concat([id, signature]).toString('base64')}\n`
    },
  }
}

function keyId(name: string, typedKey: Uint8Array): Buffer {
  const bytes = Buffer.concat([Buffer.from(`${name}\n`), typedKey])
  return hash('sha256', bytes, 'buffer').subarray(0, ID_BYTES)
}

interface KnownKey {
  readonly name: string
  readonly id: string
  readonly key: KeyObject
}

/** @throws Error for any other key than Ed25519, and for an id that is not the one of the name and the key */
function readVkey(vkey: string): KnownKey {
  const [name = '', id = '', ...rest] = vkey.split('+')
  const typedKey = bytesOf(rest.join('+'))
  if (name === '' || typedKey?.length !== 1 + KEY_BYTES || typedKey[0] !== ED25519)
    throw new Error(`no Ed25519 key of a signed note: ${vkey}`)
  if (keyId(name, typedKey).toString('hex') !== id)
    throw new Error(`the id of the key ${name} is not the one of its bytes`)
  const der = Buffer.concat([SPKI, typedKey.subarray(1)])
  return { name, id, key: createPublicKey({ key: der, format: 'der', type: 'spki' }) }
}

/** The bytes of a text in base64; undefined where it is not the text that these bytes are written as. */
function bytesOf(base64: string): Buffer | undefined {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes : undefined
}

/**
 * The text of a note that one of these keys signed. Signatures by other keys are ignored.
 * @throws Error for any other text, for a wrong signature by one of the keys, and where none of them signed
 */
export function openNote(note: string, vkeys: readonly string[]): string {
  const known = vkeys.map(readVkey)
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n')) throw new Error('not a signed note')
  const text = note.slice(0, end + 1)
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > MAX_SIGNATURES) throw new Error(`more than ${MAX_SIGNATURES} signatures`)
  let isSigned = false
  for (const line of lines) {
    const [, name = '', base64 = ''] = /^— ([^\s+]+) (\S+)$/.exec(line) ?? []
    const signed = bytesOf(base64)
    if (signed === undefined || signed.length <= ID_BYTES) throw new Error('not a signed note')
    const id = signed.subarray(0, ID_BYTES).toString('hex')
    const by = known.find((one) => one.name === name && one.id === id)
    if (by === undefined) continue
    if (!verify(null, Buffer.from(text), by.key, signed.subarray(ID_BYTES)))
      throw new Error(`the signature by ${name} is not one of this text`)
    isSigned = true
  }
  if (!isSigned) throw new Error('none of the known keys signed the note')
  return text
}

/** The head of a tree that has its last leaf. */
export interface TreeHead {
  /** The name of the tree: no two trees may have the same. */
  readonly origin: string
  /** Number of leaves. */
  readonly size: number
  readonly root: Buffer
}

/** The text that is signed as a checkpoint. */
export function checkpointText({ origin, size, root }: TreeHead): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`
}

/** Reads the text of a checkpoint; lines after its third are ignored. @throws Error on anything else */
export function readCheckpoint(text: string): TreeHead {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n')
  if (origin === '' || rest.length === 0) throw new Error('not a checkpoint')
  return { origin, size: wholeNumberOf(size), root: hashOf(root) }
}

/** The proof that a tree has a leaf, with the signed head of the tree. */
export interface InclusionProof {
  /** Bytes that the format leaves to its users, and that no one signs: of a line, its leaf. */
  readonly extra?: Uint8Array | undefined
  readonly index: number
  readonly path: readonly Buffer[]
  /** A signed note. */
  readonly checkpoint: string
}

const PROOF = 'c2sp.org/tlog-proof@v1'

/** Writes a proof as a text, for a file `.tlog-proof`. */
export function writeProof({ extra, index, path, checkpoint }: InclusionProof): string {
  const head = extra === undefined ? [] : [`extra ${Buffer.from(extra).toString('base64')}`]
  const hashes = path.map((each) => each.toString('base64'))
  return [PROOF, ...head, `index ${index}`, ...hashes, '', checkpoint].join('\n')
}

/** Reads the text of a proof. @throws Error on anything else */
export function readProof(text: string): InclusionProof {
  const end = text.indexOf('\n\n')
  const [first, ...lines] = text.slice(0, Math.max(0, end)).split('\n')
  if (first !== PROOF) throw new Error('not a proof')
  const extra = lines[0]?.startsWith('extra ') ? bytesOf(lines[0].slice(6)) : undefined
  const [index = '', ...hashes] = extra === undefined ? lines : lines.slice(1)
  if (!index.startsWith('index ')) throw new Error('not a proof')
  return {
    extra,
    index: wholeNumberOf(index.slice(6)),
    path: hashes.map(hashOf),
    checkpoint: text.slice(end + 2),
  }
}

function wholeNumberOf(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 0 || String(value) !== text)
    throw new Error(`not a whole number: ${text}`)
  return value
}

function hashOf(base64: string): Buffer {
  const bytes = bytesOf(base64)
  if (bytes?.length !== HASH_BYTES) throw new Error(`not a hash: ${base64}`)
  return bytes
}
