import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import t from 'tap'
import {
  inclusionPath,
  inclusionPathByTiles,
  leafHash,
  MerkleTree,
  rootFromPath,
  TILE_LEAVES,
} from '../../src/kernel/merkle.ts'
import { checkout } from '../helpers/checkout.ts'
import { propertyRuns } from '../helpers/property-runs.ts'

function treeOf(hashes: readonly Buffer[]): MerkleTree {
  const tree = new MerkleTree()
  for (const each of hashes) tree.add(each)
  return tree
}

interface Vector {
  readonly file: string
  readonly leafIdx: number
  readonly treeSize: number
  readonly root: string
  readonly leafHash: string
  readonly proof: readonly string[] | null
  readonly wantErr: boolean
}

t.test('a proof holds exactly where the vectors of transparency-dev/merkle say so', (t) => {
  const file = new URL('test/fixtures/merkle-vectors.json', checkout)
  const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Vector[] }
  for (const vector of cases) {
    const path = (vector.proof ?? []).map((each) => Buffer.from(each, 'base64'))
    const place = { index: vector.leafIdx, size: vector.treeSize }
    const root = rootFromPath(place, Buffer.from(vector.leafHash, 'base64'), path)
    const holds = root?.toString('base64') === vector.root
    if (holds === vector.wantErr) t.fail(vector.file)
  }
  t.equal(cases.length, 98)
  t.equal(cases.filter(({ wantErr }) => !wantErr).length, 6)
  t.end()
})

t.test('roots are those of RFC 6962', (t) => {
  const inHex = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657']
  const leaves = [...inHex, '606162636465666768696a6b6c6d6e6f'].map((each) =>
    leafHash(Buffer.from(each, 'hex')),
  )
  t.equal(
    treeOf(leaves).root().toString('hex'),
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  )
  t.equal(
    new MerkleTree().root().toString('hex'),
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  )
  t.same(leafHash('上海'), leafHash(Buffer.from('上海')), 'a text is its bytes')
  t.end()
})

t.test('every leaf proves, also by tiles; another leaf, index or size does not', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_500 }), fc.nat(), fc.nat(), (size, at, bit) => {
      const hashes = Array.from({ length: size }, (_, n) => leafHash(`leaf ${n}`))
      const tree = treeOf(hashes)
      const index = at % size
      const path = inclusionPath(index, hashes)
      const first = index - (index % TILE_LEAVES)
      const partial = hashes.slice(size - (size % TILE_LEAVES))
      const byTiles = inclusionPathByTiles(index, hashes.slice(first, first + TILE_LEAVES), [
        ...tree.tiles,
        ...(partial.length === 0 ? [] : [treeOf(partial).root()]),
      ])
      const leaf = hashes[index] ?? Buffer.alloc(32)
      const changed = Buffer.from(leaf)
      changed[bit % 32] = (changed[bit % 32] ?? 0) ^ (1 << (bit % 8))
      const proves = (place: { readonly index: number; readonly size: number }, hash: Buffer) =>
        rootFromPath(place, hash, path)?.equals(tree.root()) === true
      const other = (index + 1) % size
      return (
        tree.size === size &&
        Buffer.concat(path).equals(Buffer.concat(byTiles)) &&
        proves({ index, size }, leaf) &&
        !proves({ index, size }, changed) &&
        (other === index || !proves({ index: other, size }, leaf)) &&
        !proves({ index, size: index }, leaf)
      )
    }),
    { numRuns: propertyRuns(100) },
  )
  t.end()
})
