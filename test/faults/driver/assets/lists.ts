import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Call } from '../caller.ts'
import { act, resultOf } from './wire.ts'

/** What a tenant's own lists show: the read model as callers see it. */

const PAGE = 100
/** A read model that a dead process left behind catches up within it. */
const PATIENCE_MS = 20_000
const PAUSE_MS = 250

export interface Shown {
  /** Statuses by id. */
  readonly assets: ReadonlyMap<string, string>
  readonly groups: ReadonlySet<string>
}

type Item = Readonly<Record<string, unknown>>

async function answered(
  call: Call,
  action: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const untilMs = performance.now() + PATIENCE_MS
  for (;;) {
    const answer = await act(call, action, body)
    if (answer?.status === 200) return answer
    if (performance.now() > untilMs)
      throw new Error(`${action} answered ${answer?.status ?? 'nothing'}`)
    await sleep(PAUSE_MS)
  }
}

async function allOf(call: Call, action: string, groupType: string): Promise<readonly Item[]> {
  const items: Item[] = []
  for (let number = 1; ; number += 1) {
    const answer = await answered(call, action, {
      Filter: { GroupType: groupType },
      PageNumber: number,
      PageSize: PAGE,
      SortOrder: 'Asc',
    })
    const { Items: page, TotalCount: total } = resultOf(answer)
    items.push(...(page as readonly Item[]))
    if (items.length >= Number(total) || (page as readonly Item[]).length === 0) return items
  }
}

/** Everything a tenant is shown, page by page. @throws when a list is not answered */
export async function readLists(call: Call): Promise<Shown> {
  const both = async (action: string): Promise<readonly Item[]> => [
    ...(await allOf(call, action, 'AIGC')),
    ...(await allOf(call, action, 'LivenessFace')),
  ]
  const assets = await both('ListAssets')
  const groups = await both('ListAssetGroups')
  return {
    assets: new Map(assets.map(({ Id: id, Status: status }) => [String(id), String(status)])),
    groups: new Set(groups.map(({ Id: id }) => String(id))),
  }
}
