import type { FamilyKit } from '../family.ts'
import { countOf, type Faults, isOn } from '../faults/vocabulary.ts'
import { Refusal } from '../http/dotted-errors.ts'
import type { FoundTask } from '../tasks/family-tasks.ts'
import type { TaskState } from '../tasks/record.ts'
import type { StoredTask } from '../tasks/store.ts'
import type { VideoDetail } from './plan.ts'

/** One page of tasks, newest first. */
export interface Page {
  readonly items: readonly FoundTask[]
  readonly total: number
}

const STATUSES = ['queued', 'running', 'succeeded', 'failed', 'expired', 'cancelled']
const MAX_PAGE = 500

function pageNumber(query: URLSearchParams, name: string, absent: number): number {
  const text = query.get(name)
  if (text === null || text === '') return absent
  const value = Number(text)
  if (!/^\d{1,6}$/.test(text) || value < 1 || value > MAX_PAGE) {
    const why = `The parameter \`${name}\` must be an integer from 1 to ${MAX_PAGE}.`
    throw new Refusal(`InvalidParameter.${name}`, why, name)
  }
  return value
}

/** Several ids come as a repeated parameter; a comma is part of an id here. */
function candidates(kit: FamilyKit, query: URLSearchParams): readonly StoredTask[] {
  const ids = query.getAll('filter.task_ids').filter((id) => id !== '')
  if (ids.length === 0) return kit.store.all()
  const found = [...new Set(ids)].map((id) => kit.store.get(id))
  return found.filter((task) => task !== null).sort((a, b) => a.record.seq - b.record.seq)
}

function wanted(task: StoredTask, state: TaskState, query: URLSearchParams): boolean {
  const { record } = task
  const status = query.get('filter.status') ?? ''
  const model = query.get('filter.model') ?? ''
  const tier = query.get('filter.service_tier') ?? ''
  const detail = record.detail as unknown as VideoDetail
  return (
    (status === '' || (state.strange ?? state.phase) === status) &&
    (model === '' || model === record.model || model === record.requestedModel) &&
    (tier === '' || tier === detail.serviceTier)
  )
}

/** The page a list query asks for. @throws Refusal */
export function listTasks(
  kit: FamilyKit,
  family: string,
  query: URLSearchParams,
  faults: Faults,
): Page {
  const number = pageNumber(query, 'page_num', 1)
  const asked = pageNumber(query, 'page_size', 10)
  const size = Math.min(asked, countOf(faults, 'page-cap') ?? asked)
  const status = query.get('filter.status') ?? ''
  if (status !== '' && !STATUSES.includes(status)) {
    const why = `The parameter \`filter.status\` must be one of ${STATUSES.join(', ')}.`
    throw new Refusal('InvalidParameter.filter.status', why, 'filter.status')
  }
  if (isOn(faults, 'empty-list')) return { items: [], total: 0 }
  const nowMs = kit.clock.nowMs()
  const first = (number - 1) * size
  const items: FoundTask[] = []
  let total = 0
  const tasks = candidates(kit, query)
  for (let i = tasks.length - 1; i >= 0; i -= 1) {
    const task = tasks[i]
    if (task === undefined || task.record.family !== family) continue
    const state = kit.store.stateOf(task, nowMs)
    if (!state.visible || !wanted(task, state, query)) continue
    if (total >= first && items.length < size) items.push([task, state])
    total += 1
  }
  return { items, total }
}
