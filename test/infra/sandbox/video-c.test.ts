import t from 'tap'
import { startSandbox } from '../../../infra/sandbox/server.ts'
import { eventually } from '../../helpers/eventually.ts'

const sandbox = await startSandbox({ queuedMs: 20, runningMs: 20, seed: 1, apiKeys: ['key-1'] })
t.teardown(() => sandbox.close())

interface Body {
  readonly task_id: string
  readonly state: string
  readonly err_code: string
  readonly reason: string
  readonly credits?: number
  readonly payload: string
  readonly tasks: readonly { readonly id: string; readonly payload: string }[]
  readonly remains: readonly { readonly credit_remain: number }[]
  readonly creations: readonly { readonly url: string; readonly watermarked_url?: string }[]
}

async function ask(path: string, body?: object, authorization = 'Token key-1') {
  const response = await fetch(`${sandbox.url}/ent/v2${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Body }
}

async function made(switches = '', rest: object = {}): Promise<string> {
  const prompt = `x [[sandbox queued-ms=0 ${switches}]]`
  const created = await ask('/text2video', { model: 'reelq3-pro', prompt, ...rest })
  t.equal(created.status, 200, JSON.stringify(created.body))
  return created.body.task_id
}

const ended = (id: string) =>
  eventually(`${id} ends`, async () => {
    const { body } = await ask(`/tasks/${id}/creations`)
    return ['success', 'failed'].includes(body.state) ? body : undefined
  })

t.test('a token instead of a bearer is required, and faults are refused by name', async (t) => {
  const body = { model: 'reelq2', prompt: 'x' }
  t.same((await ask('/text2video', body, 'Bearer key-1')).body.reason, 'Unauthorized')
  t.same((await ask('/text2video', body, 'Token key-2')).status, 401)
  const cases = [
    ['/text2video', {}, 'FieldLacking'],
    ['/text2video', { ...body, model: 'other' }, 'ModelUnavailable'],
    ['/text2video', { ...body, wm_position: '3' }, 'FieldInvalid'],
    ['/img2video', { ...body, images: [] }, 'FieldItemCountOutOfRange'],
    ['/text2video', { ...body, prompt: '[[sandbox nonsense]]' }, 'FieldInvalid'],
    ['/text2video', { ...body, prompt: '[[sandbox refuse=QuotaExceeded]]' }, 'QuotaExceeded'],
    ['/tasks/8000000000000000/cancel', { id: '8000000000000000' }, 'TaskNotFound'],
  ] as const
  for (const [path, sent, reason] of cases) t.equal((await ask(path, sent)).body.reason, reason)
})

t.test('each end of a task, and its credits', async (t) => {
  const left = async () => (await ask('/credits')).body.remains[0]?.credit_remain ?? 0
  const before = await left()
  const [success, failed, expired, missing] = await Promise.all(
    ['tokens=70', 'fail=CreationPolicyViolation', 'expire', 'usage-missing'].map(async (switches) =>
      ended(await made(switches, { duration: 2 })),
    ),
  )
  t.match(success, { state: 'success', err_code: '', credits: 70 })
  t.match(failed, { state: 'failed', err_code: 'CreationPolicyViolation', credits: 0 })
  t.match(expired, { state: 'failed', err_code: 'Canceled', credits: 0 })
  t.equal(missing?.credits, undefined)
  t.equal(before - (await left()), 70 + 2 * 20, 'what failed has its credits back')
  const marked = await ended(await made('', { watermark: true, off_peak: true }))
  t.equal(marked.credits, 50)
  t.match(marked.creations[0]?.watermarked_url, /^http/)
  const file = await fetch(marked.creations[0]?.url ?? '', { headers: { range: 'bytes=4-7' } })
  t.same([file.status, await file.text()], [206, 'ftyp'])
})

t.test('a waiting task can be cancelled once, with its id in the body', async (t) => {
  const waiting = await made('stall-queued')
  t.equal((await ask(`/tasks/${waiting}/cancel`, {})).body.reason, 'FieldLacking')
  t.same((await ask(`/tasks/${waiting}/cancel`, { id: waiting })).body, {})
  t.match(await ended(waiting), { err_code: 'UserCancelled', credits: 0 })
  t.equal((await ask(`/tasks/${waiting}/cancel`, { id: waiting })).body.reason, 'BadRequest')
  const running = await made('stall')
  await eventually('it runs', async () => {
    const { body } = await ask(`/tasks/${running}/creations`)
    return body.state === 'processing' ? true : undefined
  })
  t.equal((await ask(`/tasks/${running}/cancel`, { id: running })).status, 400)
})

t.test('lists by page from 0, by ids, and under faults', async (t) => {
  const ids = [await made('', { payload: 'p1' }), await made('', { payload: 'p2' })]
  const idsOf = ({ body }: Awaited<ReturnType<typeof ask>>) => body.tasks.map(({ id }) => id)
  t.same(idsOf(await ask('/tasks?pager.page=0&pager.pagesz=1')), [ids[1]])
  t.same(idsOf(await ask('/tasks?pager.page=1&pager.pagesz=1')), [ids[0]])
  const named = await ask(`/tasks?task_ids=${ids[0]}&task_ids=${ids[1]}&task_ids=8`)
  t.same(idsOf(named), ids.toReversed())
  t.same(
    named.body.tasks.map(({ payload }) => payload),
    ['p2', 'p1'],
  )
  t.equal((await ask('/tasks?pager.pagesz=101')).body.reason, 'PageSizeOutOfRange')
  sandbox.faults.add({ faults: ['empty-list'], match: { op: 'list' }, once: true })
  t.same(idsOf(await ask('/tasks')), [])
  sandbox.faults.add({ faults: ['unmarked'], match: { op: 'list' }, once: true })
  t.equal((await ask('/tasks')).body.tasks[0]?.payload, '')
})
