import { hash } from 'node:crypto'

/**
 * The Merkle tree of RFC 9162, section 2.1, a second time: who checks a root shares no code with what made it
 * (`src/kernel/merkle.ts`). Also joined into the file that verifies statements with Node alone.
 */

export const DIGEST_BYTES = 32

function digest(prefix: 0 | 1, ...parts: readonly Uint8Array[]): Buffer {
  return hash('sha256', Buffer.concat([Uint8Array.of(prefix), ...parts]), 'buffer')
}

/** The hash of the bytes of a leaf. */
export function digestOfLeaf(leaf: Uint8Array): Buffer {
  return digest(0, leaf)
}

/** The root of leaves that come one by one, in memory that does not grow with them. */
export class SecondTree {
  /** At each level, the root of the complete subtree of 2^level leaves that waits for its right neighbour. */
  readonly #waiting: (Buffer | undefined)[] = []
  #leaves = 0

  get leaves(): number {
    return this.#leaves
  }

  /** Adds a leaf by its hash. */
  append(leaf: Buffer): void {
    let carried = leaf
    let level = 0
    for (; this.#waiting[level] !== undefined; level += 1) {
      carried = digest(1, this.#waiting[level] ?? carried, carried)
      this.#waiting[level] = undefined
    }
    this.#waiting[level] = carried
    this.#leaves += 1
  }

  /** Undefined as long as there is no leaf. */
  root(): Buffer | undefined {
    let root: Buffer | undefined
    for (const left of this.#waiting)
      if (left !== undefined) root = root === undefined ? left : digest(1, left, root)
    return root
  }
}

/**
 * The root of a tree of so many leaves in which a leaf at an index has these neighbours, from the one of the leaf
 * upwards; undefined where they are too few or too many.
 */
export function rootAbove(
  leaf: Buffer,
  index: number,
  leaves: number,
  neighbours: readonly Buffer[],
): Buffer | undefined {
  const isPlace = Number.isSafeInteger(leaves) && index >= 0 && index < leaves
  const areHashes = [leaf, ...neighbours].every(({ length }) => length === DIGEST_BYTES)
  if (!isPlace || !areHashes || neighbours.length !== depthOf(index, leaves)) return undefined
  return rootWithin(leaf, index, leaves, neighbours)
}

/** Leaves of the left half: the largest power of two below the number of all. */
function leftHalf(leaves: number): number {
  let half = 1
  while (half * 2 < leaves) half *= 2
  return half
}

function depthOf(index: number, leaves: number): number {
  if (leaves === 1) return 0
  const half = leftHalf(leaves)
  return 1 + (index < half ? depthOf(index, half) : depthOf(index - half, leaves - half))
}

/** From the root down: the last neighbour is the other half of the tree. */
function rootWithin(
  leaf: Buffer,
  index: number,
  leaves: number,
  neighbours: readonly Buffer[],
): Buffer {
  const other = neighbours.at(-1)
  if (other === undefined) return leaf
  const half = leftHalf(leaves)
  const below = neighbours.slice(0, -1)
  return index < half
    ? digest(1, rootWithin(leaf, index, half, below), other)
    : digest(1, other, rootWithin(leaf, index - half, leaves - half, below))
}
