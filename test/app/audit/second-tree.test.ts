import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import t from 'tap'
import { digestOfLeaf, rootAbove, SecondTree } from '../../../src/app/audit/second-tree.ts'
import { inclusionPath, leafHash, MerkleTree } from '../../../src/kernel/merkle.ts'
import { checkout } from '../../helpers/checkout.ts'
import { propertyRuns } from '../../helpers/property-runs.ts'

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
  const wrong = cases.filter((vector) => {
    const leaf = Buffer.from(vector.leafHash, 'base64')
    const path = (vector.proof ?? []).map((each) => Buffer.from(each, 'base64'))
    const root = rootAbove(leaf, vector.leafIdx, vector.treeSize, path)
    return (root?.toString('base64') === vector.root) === vector.wantErr
  })
  t.same(
    wrong.map((vector) => vector.file),
    [],
  )
  t.equal(cases.length, 98)
  t.end()
})

t.test('both trees have the same root and accept the same proofs', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 700 }), fc.nat(), (size, at) => {
      const [tree, second] = [new MerkleTree(), new SecondTree()]
      const hashes = Array.from({ length: size }, (_, n) => leafHash(`leaf ${n}`))
      for (const [n, each] of hashes.entries()) {
        tree.add(each)
        second.append(digestOfLeaf(Buffer.from(`leaf ${n}`)))
      }
      const index = at % size
      const leaf = hashes[index] ?? Buffer.alloc(32)
      const path = inclusionPath(index, hashes)
      return (
        second.leaves === size &&
        second.root()?.equals(tree.root()) === true &&
        rootAbove(leaf, index, size, path)?.equals(tree.root()) === true &&
        rootAbove(leaf, index, size, [...path, leaf]) === undefined &&
        (size === 1 || rootAbove(leaf, index, size, path.slice(1)) === undefined)
      )
    }),
    { numRuns: propertyRuns(100) },
  )
  t.equal(new SecondTree().root(), undefined)
  t.end()
})
