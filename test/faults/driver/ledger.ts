/** The ledger as finance reads it: over HTTP, page by page. */

const PAGE = 500
const TIMEOUT_MS = 20_000

export interface LedgerLine {
  readonly line_id: string
  readonly source_id: string
  readonly native_id: string | null
  readonly tenant_id: string
  readonly model: string
  readonly sku: string
  readonly quantity: number
  readonly currency: string
  readonly amount: string
}

export async function readLedger(
  address: string,
  queryToken: string,
): Promise<readonly LedgerLine[]> {
  const lines: LedgerLine[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const response = await fetch(`${address}/api/query/v1/ledger/lines?limit=${PAGE}${query}`, {
      headers: { authorization: `Bearer ${queryToken}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`the ledger answered ${response.status}`)
    const { data } = (await response.json()) as {
      readonly data: { readonly items: readonly LedgerLine[]; readonly next_cursor: string | null }
    }
    lines.push(...data.items)
    cursor = data.next_cursor
  }
  return lines
}
