/** What the simulated libraries say of what they accepted, deleted things too. */

interface Recorded {
  readonly seq: number
  readonly id: string
  readonly client_marker: string | null
  readonly accepted_at: string
}

interface Kept extends Recorded {
  /** What it was asked for as; empty of a person's group. */
  readonly name: string
  readonly group_type: string
  readonly deleted: boolean
}

/** Of `GET /__sandbox/assets`. */
export interface AcceptedAsset extends Kept {
  readonly group_id: string
  readonly status: string
  /** What it ends in, already or later. */
  readonly outcome: 'Active' | 'Failed' | 'never'
  readonly gone: boolean
}

/** Of `GET /__sandbox/asset-groups`. */
export type AcceptedGroup = Kept

/** Of `GET /__sandbox/verifications`. */
export interface AcceptedVerification extends Recorded {
  readonly page: 'pass' | 'fail' | null
  /** Of the person, once there is one. */
  readonly group_id: string | null
}

export interface LibraryRecord {
  readonly assets: readonly AcceptedAsset[]
  readonly groups: readonly AcceptedGroup[]
  readonly verifications: readonly AcceptedVerification[]
}

const TIMEOUT_MS = 20_000
const PAGE = 1_000

async function all<Item>(url: string): Promise<readonly Item[]> {
  const items: Item[] = []
  for (let after: number | null = 0; after !== null;) {
    const response: Response = await fetch(`${url}?after=${after}&limit=${PAGE}`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`the sandbox answered ${response.status} to ${url}`)
    const page = (await response.json()) as {
      readonly items: readonly Item[]
      readonly next_after: number | null
    }
    items.push(...page.items)
    after = page.next_after
  }
  return items
}

/** Everything a sandbox's libraries accepted, oldest first. */
export async function readLibrary(sandboxUrl: string): Promise<LibraryRecord> {
  const at = `${sandboxUrl}/__sandbox`
  const [assets, groups, verifications] = await Promise.all([
    all<AcceptedAsset>(`${at}/assets`),
    all<AcceptedGroup>(`${at}/asset-groups`),
    all<AcceptedVerification>(`${at}/verifications`),
  ])
  return { assets, groups, verifications }
}
