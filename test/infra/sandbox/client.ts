import type { Test } from 'tap'
import { eventually } from '../../helpers/eventually.ts'
import type { SandboxOptions } from '../../../infra/sandbox/options.ts'
import { startSandbox, type Sandbox } from '../../../infra/sandbox/server.ts'

/** Path of the `/provA` video tasks on the upstream's wire. */
export const TASKS = '/api/v3/contents/generations/tasks'

/** Whatever a body holds; assertions say what it must be. */
export type Loose = ReturnType<typeof JSON.parse>

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed body; undefined when it is not JSON. */
  readonly json: Loose
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** One request over real HTTP, credential included, ten seconds at most. */
export async function call(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(url + path, {
    method,
    headers: {
      authorization: 'Bearer test-key',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    signal: AbortSignal.timeout(10_000),
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

/** A create body with a prompt. */
export function video(prompt: string, more: object = {}): object {
  return {
    model: 'domestic-video-2-5-260628',
    content: [{ type: 'text', text: prompt }],
    duration: 5,
    ratio: '16:9',
    resolution: '720p',
    ...more,
  }
}

/** Creates a task that must be accepted; its id. */
export async function create(url: string, prompt: string, more: object = {}): Promise<string> {
  const reply = await call(url, 'POST', TASKS, video(prompt, more))
  if (reply.status !== 200) throw new Error(`create answered ${reply.status}: ${reply.text}`)
  return reply.json.id
}

/** The task as a query shows it. */
export async function query(url: string, id: string): Promise<Reply> {
  return call(url, 'GET', `${TASKS}/${id}`)
}

/** Reads until what is read is as it should be; that. */
export async function until<T>(
  read: () => Promise<T> | T,
  done: (value: T) => boolean,
): Promise<T> {
  const found = await eventually(done.toString(), async () => {
    const value = await read()
    return done(value) ? { value } : undefined
  })
  return found.value
}

/** A sandbox of this test's own, closed with it. */
export async function sandboxFor(t: Test, options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options)
  t.teardown(() => sandbox.close())
  return sandbox
}
