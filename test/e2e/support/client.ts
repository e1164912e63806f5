import { eventually } from '../../helpers/eventually.ts'

/** What came back, whole: JSON where it is JSON. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into as users do
  readonly body: any
}

export const TASKS = '/provA/api/v3/contents/generations/tasks'

export async function call(
  url: string,
  init: RequestInit & { readonly token?: string } = {},
): Promise<Answer> {
  const { token, ...rest } = init
  const headers = new Headers(rest.headers)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(url, { ...rest, headers, signal: AbortSignal.timeout(30_000) })
  const text = await response.text()
  const json = (response.headers.get('content-type') ?? '').includes('json')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: json ? JSON.parse(text) : undefined,
  }
}

/** A body every rule accepts, with these members instead. */
export function taskBody(members: Readonly<Record<string, unknown>> = {}): object {
  const { prompt, ...rest } = members
  const text = typeof prompt === 'string' ? prompt : 'a paper boat crosses a puddle'
  return {
    model: 'domestic-video-2-0',
    content: [{ type: 'text', text }],
    duration: 5,
    resolution: '720p',
    ...rest,
  }
}

/** The `/provA` tasks of one gateway as one token sees them. */
export interface Tasks {
  readonly create: (
    members?: Readonly<Record<string, unknown>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>
  /** Creates and answers with the native id. @throws when it was not accepted */
  readonly created: (members?: Readonly<Record<string, unknown>>) => Promise<string>
  readonly get: (id: string) => Promise<Answer>
  readonly list: (query?: string) => Promise<Answer>
  readonly del: (id: string) => Promise<Answer>
  /** Queries until the task has this status. */
  readonly reaches: (id: string, status: string) => Promise<Answer>
}

export function tasksOf(url: string, token: string): Tasks {
  const at = (path: string) => `${url}${TASKS}${path}`
  const create: Tasks['create'] = (members, headers = {}) =>
    call(at(''), {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(taskBody(members)),
    })
  const get: Tasks['get'] = (id) => call(at(`/${id}`), { token })
  return {
    create,
    created: async (members) => {
      const answer = await create(members)
      if (answer.status !== 200) throw new Error(`not created: ${answer.status} ${answer.text}`)
      return String(answer.body.id)
    },
    get,
    list: (query = '') => call(at(query === '' ? '' : `?${query}`), { token }),
    del: (id) => call(at(`/${id}`), { method: 'DELETE', token }),
    reaches: (id, status) =>
      eventually(`${id} ${status}`, async () => {
        const answer = await get(id)
        return answer.body?.status === status ? answer : undefined
      }),
  }
}

/** The finance and support queries of one gateway as one token sees them. */
export function queriesOf(url: string, token: string) {
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    call(`${url}/api/query/v1${path}`, { token, headers })
  return {
    get,
    lines: (query = '') => get(`/ledger/lines${query === '' ? '' : `?${query}`}`),
    summary: (query = '') => get(`/ledger/summary${query === '' ? '' : `?${query}`}`),
    history: (id: string) => get(`/tasks/${id}/history`),
  }
}

/** Every header but those that differ with every answer. */
export function steadyHeaders(answer: Answer): Record<string, string> {
  const entries = [...answer.headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
  return Object.fromEntries(entries)
}
