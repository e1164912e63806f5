import type { FamilyKit } from '../family.ts'
import { countOf, isOn, type Faults } from '../faults/vocabulary.ts'
import type { FoundTask } from '../tasks/family-tasks.ts'
import { Refusal } from './errors.ts'

const MAX_PAGE = 100

/** One page of tasks, newest first; pages are numbered from 0. */
export interface Page {
  readonly items: readonly FoundTask[]
  readonly hasMore: boolean
}

function numberIn(query: URLSearchParams, name: string, absent: number, max: number): number {
  const text = query.get(name)
  if (text === null || text === '') return absent
  if (!/^\d{1,6}$/.test(text) || Number(text) > max)
    throw new Refusal('PageSizeOutOfRange', `${name} is out of range`)
  return Number(text)
}

/** @throws Refusal */
export function listTasks(
  kit: FamilyKit,
  family: string,
  query: URLSearchParams,
  faults: Faults,
): Page {
  const page = numberIn(query, 'pager.page', 0, 100_000)
  const asked = numberIn(query, 'pager.pagesz', 10, MAX_PAGE)
  const size = Math.min(asked, countOf(faults, 'page-cap') ?? asked)
  if (isOn(faults, 'empty-list')) return { items: [], hasMore: false }
  const ids = new Set(query.getAll('task_ids').filter((id) => id !== ''))
  const nowMs = kit.clock.nowMs()
  const found = kit.store
    .all()
    .filter(({ record }) => record.family === family && (ids.size === 0 || ids.has(record.id)))
    .map((task) => [task, kit.store.stateOf(task, nowMs)] as const)
    .filter(([, state]) => state.visible)
    .reverse()
  const end = (page + 1) * size
  return { items: found.slice(page * size, end), hasMore: found.length > end }
}
