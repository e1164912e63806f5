import type { Queryable } from '../../../../projections/engine/queryable.ts'
import {
  inclusionPathByTiles,
  leafHash,
  rootFromPath,
  TILE_LEAVES,
} from '../../../kernel/merkle.ts'
import type { Migrations } from '../../../storage/postgres/migrate.ts'
import { isEarlier, type LeafPlace, type PeriodBounds, readLeaves } from './leaves.ts'
import { type BuiltTree, rootOfTile, type Tile } from './tree.ts'

/**
 * The tiles of the trees of closed periods, and their late lines: caches. Whatever they lost or however they were changed,
 * a proof leads to the signed root or is not given.
 */

export const statementMigrations: Migrations = {
  owner: 'statements',
  steps: [
    `
-- The roots of each 256 leaves of the tree of a closed period, and where each begins.
create table ops.period_tiles (
  tenant_id text not null,
  period_id text not null,
  tile integer not null,
  -- Null of the first tile, which begins with the leaf of the close.
  first_at text,
  first_position text,
  first_n integer,
  root text not null,
  primary key (tenant_id, period_id, tile)
);

-- Numbers of the lines of a closed period that are dated before it.
create table ops.period_late (
  tenant_id text not null,
  period_id text not null,
  seq bigint not null,
  primary key (tenant_id, period_id, seq)
);
`,
  ],
}

/** Names a closed period of a tenant. */
export interface PeriodKey {
  readonly tenantId: string
  readonly periodId: string
}

/** Stores what a tree was built of; a period that is stored already is replaced. */
export async function storeTree(
  db: Queryable,
  { tenantId, periodId }: PeriodKey,
  { tiles, lateSeqs }: Pick<BuiltTree, 'tiles' | 'lateSeqs'>,
): Promise<void> {
  await db.query(
    `insert into ops.period_tiles
     select $1, $2, n - 1, at, position, number, root
     from unnest($3::text[], $4::text[], $5::integer[], $6::text[]) with ordinality
       as t (at, position, number, root, n)
     on conflict (tenant_id, period_id, tile) do update
     set first_at = excluded.first_at, first_position = excluded.first_position,
         first_n = excluded.first_n, root = excluded.root`,
    [
      tenantId,
      periodId,
      tiles.map(({ first }) => first?.at ?? null),
      tiles.map(({ first }) => first?.position ?? null),
      tiles.map(({ first }) => first?.n ?? null),
      tiles.map(({ root }) => root),
    ],
  )
  if (lateSeqs.length === 0) return
  await db.query(
    `insert into ops.period_late select $1, $2, unnest($3::bigint[]) on conflict do nothing`,
    [tenantId, periodId, lateSeqs],
  )
}

async function readTiles(
  db: Queryable,
  { tenantId, periodId }: PeriodKey,
): Promise<readonly Tile[]> {
  const { rows } = await db.query<{
    at: string | null
    position: string | null
    n: number | null
    root: string
  }>({
    name: 'statements.tiles',
    text: `select first_at as at, first_position as position, first_n as n, root
           from ops.period_tiles where tenant_id = $1 and period_id = $2 order by tile`,
    values: [tenantId, periodId],
  })
  return rows.map(({ at, position, n, root }) => {
    const first = at === null || position === null || n === null ? null : { at, position, n }
    return { first, root }
  })
}

/** The tree of a closed period, as its event has it. */
export interface ClosedTree extends PeriodKey {
  readonly bounds: PeriodBounds
  /** The leaf of the close. */
  readonly first: string
  readonly size: number
  readonly root: Buffer
}

export interface LeafProof {
  readonly leaf: string
  readonly index: number
  readonly path: readonly Buffer[]
}

/**
 * Proves a leaf by its place, or the leaf of the close without one. Undefined where the tiles are lost, or do not lead
 * to the root.
 */
export async function proveLeaf(
  db: Queryable,
  tree: ClosedTree,
  place: LeafPlace | undefined,
): Promise<LeafProof | undefined> {
  const tiles = await readTiles(db, tree)
  if (tiles.length !== Math.ceil(tree.size / TILE_LEAVES)) return undefined
  const tile = place === undefined ? 0 : tileOf(tiles, place)
  const leaves = await leavesOfTile(db, tree, tiles, tile)
  const within =
    place === undefined
      ? 0
      : leaves.findIndex(({ place: of }) => of && !isEarlier(of, place) && !isEarlier(place, of))
  const found = leaves[within]
  if (found === undefined) return undefined
  const hashes = leaves.map(({ text }) => leafHash(text))
  // The last tile is partial; its root is that of the leaves that were read, as is every other.
  const roots = tiles.map(({ root }, n) =>
    n === tile ? rootOfTile(hashes) : Buffer.from(root, 'base64'),
  )
  const index = tile * TILE_LEAVES + within
  const path = inclusionPathByTiles(index, hashes, roots)
  const root = rootFromPath({ index, size: tree.size }, leafHash(found.text), path)
  return root?.equals(tree.root) === true ? { leaf: found.text, index, path } : undefined
}

/** The last tile that begins at a place or before it. */
function tileOf(tiles: readonly Tile[], place: LeafPlace): number {
  let [low, high] = [0, tiles.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const first = tiles[middle]?.first
    if (first != null && isEarlier(place, first)) high = middle - 1
    else low = middle
  }
  return low
}

async function leavesOfTile(
  db: Queryable,
  { bounds, first, size }: ClosedTree,
  tiles: readonly Tile[],
  tile: number,
): Promise<readonly { readonly text: string; readonly place: LeafPlace | undefined }[]> {
  const leaves: { readonly text: string; readonly place: LeafPlace | undefined }[] = []
  if (tile === 0) leaves.push({ text: first, place: undefined })
  const wanted = Math.min(TILE_LEAVES, size - tile * TILE_LEAVES)
  const from = tiles[tile]?.first ?? undefined
  for await (const page of readLeaves(db, bounds, { from, pageRows: TILE_LEAVES })) {
    for (const leaf of page.slice(0, wanted - leaves.length))
      leaves.push({ text: leaf.text, place: leaf })
    if (leaves.length >= wanted) break
  }
  return leaves
}
