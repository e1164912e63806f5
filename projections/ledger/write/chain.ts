import type { PoolClient } from 'pg'
import { invariant } from '../../../src/kernel/assert.ts'
import type { LedgerLine } from '../line.ts'
import { chainHash } from '../fold/chain.ts'
import { insertLines } from './rows.ts'

/** Inserts lines behind the last one of the chain. */
export async function extendChain(client: PoolClient, lines: readonly LedgerLine[]): Promise<void> {
  if (lines.length === 0) return
  const { rows } = await client.query<{ seq: string; hash: Buffer }>({
    name: 'ledger.chain.read',
    text: 'select seq, hash from chain',
  })
  const [head] = rows
  invariant(head, 'the chain has a head')
  let { hash } = head
  let seq = BigInt(head.seq)
  const chained = lines.map((line) => {
    hash = chainHash(hash, line)
    seq += 1n
    return { seq, hash, line }
  })
  await insertLines(client, chained)
  await client.query({
    name: 'ledger.chain.write',
    text: 'update chain set seq = $1, hash = $2',
    values: [seq, hash],
  })
}
