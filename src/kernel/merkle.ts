import { hash } from 'node:crypto'

/**
 * The Merkle tree of RFC 9162, section 2.1, over SHA-256: roots, inclusion proofs and their verification. A tree is
 * built leaf by leaf, and keeps one hash a level and the root of every 256 leaves.
 */

/** Begins the bytes that are hashed for a leaf, and for a node, so that neither can stand for the other. */
const LEAF = 0
const NODE = 1
const HASH_BYTES = 32

/** Leaves below one kept root: a proof in a large tree hashes no more leaves than these. */
export const TILE_LEAVES = 256
const TILE_LEVEL = Math.log2(TILE_LEAVES)

/** The hash of a leaf: of its bytes, or of a text in UTF-8. */
export function leafHash(leaf: Uint8Array | string): Buffer {
  const isText = typeof leaf === 'string'
  const bytes = Buffer.allocUnsafe(1 + (isText ? Buffer.byteLength(leaf) : leaf.length))
  bytes[0] = LEAF
  if (isText) bytes.write(leaf, 1)
  else bytes.set(leaf, 1)
  return hash('sha256', bytes, 'buffer')
}

function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(1 + 2 * HASH_BYTES)
  bytes[0] = NODE
  bytes.set(left, 1)
  bytes.set(right, 1 + HASH_BYTES)
  return hash('sha256', bytes, 'buffer')
}

interface Subtree {
  readonly level: number
  readonly root: Buffer
}

/** A tree that grows to the right. Its memory grows by 32 bytes for every 256 leaves. */
export class MerkleTree {
  readonly #tiles: Buffer[] = []
  /** Roots of the complete subtrees that the leaves so far make, the largest first. */
  readonly #subtrees: Subtree[] = []
  #size = 0

  /** Number of leaves. */
  get size(): number {
    return this.#size
  }

  /** Roots of the complete tiles, in order. */
  get tiles(): readonly Buffer[] {
    return this.#tiles
  }

  /** Adds a leaf by its hash. */
  add(leaf: Buffer): void {
    let added: Subtree = { level: 0, root: leaf }
    for (
      let left = this.#subtrees.at(-1);
      left?.level === added.level;
      left = this.#subtrees.at(-1)
    ) {
      this.#subtrees.pop()
      added = { level: added.level + 1, root: nodeHash(left.root, added.root) }
      if (added.level === TILE_LEVEL) this.#tiles.push(added.root)
    }
    this.#subtrees.push(added)
    this.#size += 1
  }

  /** The root of the leaves so far; of none, the hash of no bytes. */
  root(): Buffer {
    const roots = this.#subtrees.map(({ root }) => root)
    const last = roots.pop()
    if (last === undefined) return hash('sha256', Buffer.alloc(0), 'buffer')
    return roots.reduceRight((right, left) => nodeHash(left, right), last)
  }
}

function rootOf(hashes: readonly Buffer[]): Buffer {
  const tree = new MerkleTree()
  for (const leaf of hashes) tree.add(leaf)
  return tree.root()
}

/** The largest power of two below a number of leaves. */
function leftSize(size: number): number {
  let left = 1
  while (left * 2 < size) left *= 2
  return left
}

/**
 * The proof that the leaf at an index is in the tree of these leaf hashes: hashes from its sibling up to the child of
 * the root.
 */
export function inclusionPath(index: number, hashes: readonly Buffer[]): readonly Buffer[] {
  if (hashes.length <= 1) return []
  const half = leftSize(hashes.length)
  const [left, right] = [hashes.slice(0, half), hashes.slice(half)]
  return index < half
    ? [...inclusionPath(index, left), rootOf(right)]
    : [...inclusionPath(index - half, right), rootOf(left)]
}

/**
 * The proof of `inclusionPath` for a large tree, from the leaf hashes of the leaf's tile and the roots of all tiles. The last tile
 * may be partial; its root is that of the leaves it has.
 */
export function inclusionPathByTiles(
  index: number,
  tile: readonly Buffer[],
  tiles: readonly Buffer[],
): readonly Buffer[] {
  return [
    ...inclusionPath(index % TILE_LEAVES, tile),
    ...inclusionPath(Math.floor(index / TILE_LEAVES), tiles),
  ]
}

/** The root that a proof leads to, by RFC 9162, section 2.1.3.2; undefined where the proof does not fit the size. */
export function rootFromPath(
  { index, size }: { readonly index: number; readonly size: number },
  leaf: Buffer,
  path: readonly Buffer[],
): Buffer | undefined {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size)) return undefined
  if (index < 0 || index >= size || leaf.length !== HASH_BYTES) return undefined
  // The names are those of the RFC.
  let [fn, sn, root] = [index, size - 1, leaf]
  for (const sibling of path) {
    if (sn === 0 || sibling.length !== HASH_BYTES) return undefined
    if (fn % 2 === 1 || fn === sn) {
      root = nodeHash(sibling, root)
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)]
    } else root = nodeHash(root, sibling)
    ;[fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)]
  }
  return sn === 0 ? root : undefined
}
