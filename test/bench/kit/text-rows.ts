import { randomUUID } from 'node:crypto'
import { build, compiled, installed } from './build.ts'
import type { Closers } from './closers.ts'
import {
  chatSettings,
  freePort,
  startGateway,
  startOnNullLog,
  TEXT_MODEL,
  type BenchGateway,
} from './gateway.ts'
import { start, startWithUrl } from './process.ts'

/** Whom a text benchmark asks: the upstream itself, or something in front of it. */
export interface Row {
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly pid: number
  /** What is asked; a chat unless it says otherwise. */
  readonly body?: string
  /** Each request is of one of these tokens, by chance. */
  readonly tokens?: readonly string[]
}

const CHAT_PATH = '/v1/chat/completions'
const json = { 'content-type': 'application/json' }

/** A chat request. `stream` comes first, where the static upstream looks for it. */
export function chatBody(stream: boolean): string {
  return JSON.stringify({
    stream,
    model: TEXT_MODEL,
    messages: [
      { role: 'system', content: 'You are a patient teller of very short stories.' },
      { role: 'user', content: 'Tell me about the paper boat that left the quay at dawn.' },
    ],
    max_tokens: 64,
    temperature: 0.7,
  })
}

/** A chat that the static upstream answers with 20 kB instead of 0.4 kB. */
export const longChatBody = chatBody(false).replace('"max_tokens":64', '"max_tokens":4096')

/** The static upstream; `frames` and `frameMs` are those of its streams. */
export async function startUpstream(
  closers: Closers,
  frames = 200,
  frameMs = 100,
): Promise<{ readonly row: Row; readonly url: string }> {
  await build()
  const upstream = closers.add(
    await startWithUrl({
      name: 'upstream',
      makesLoad: true,
      args: [compiled('test/bench/peers/static-upstream'), String(frames), String(frameMs)],
    }),
  )
  const row = {
    name: 'upstream alone',
    url: `${upstream.url}${CHAT_PATH}`,
    headers: json,
    pid: upstream.pid,
  }
  return { row, url: upstream.url }
}

/** The bare Fastify and undici pass-through. */
export async function startPassThrough(closers: Closers, upstreamUrl: string): Promise<Row> {
  const { url, pid } = closers.add(
    await startWithUrl({
      name: 'pass-through',
      args: [compiled('test/bench/peers/pass-through'), upstreamUrl],
    }),
  )
  return { name: 'bare pass-through', url: `${url}${CHAT_PATH}`, headers: json, pid }
}

/** Portkey's gateway as npm installs it, told to take our upstream for the provider. */
export async function startPortkey(closers: Closers, upstreamUrl: string): Promise<Row> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { pid } = closers.add(
    await start({
      name: 'Portkey gateway',
      args: [
        installed('@portkey-ai/gateway/build/start-server.js'),
        `--port=${port}`,
        '--headless',
      ],
      env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
      isReady: () =>
        fetch(url).then(
          (answer) => answer.body?.cancel().then(() => true) ?? true,
          () => false,
        ),
    }),
  )
  return {
    name: 'Portkey gateway 1.15.2',
    url: `${url}${CHAT_PATH}`,
    headers: {
      ...json,
      authorization: `Bearer ${randomUUID()}`,
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstreamUrl}/v1`,
    },
    pid,
  }
}

/** Tollgate as it is shipped, its chat models sent to the static upstream. */
export async function startTollgate(
  closers: Closers,
  upstreamUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{
  readonly row: Row
  readonly gateway: BenchGateway
  /** The same on a log that forgets settlements. */
  readonly withNullLog: () => Promise<Row>
}> {
  const settings = await chatSettings(upstreamUrl)
  closers.later(settings.remove)
  const gateway = closers.add(await startGateway({ ...settings.env, ...env }))
  const headers = { ...json, authorization: `Bearer ${gateway.token}` }
  const row = {
    name: 'Tollgate, durable',
    url: `${gateway.url}${CHAT_PATH}`,
    headers,
    pid: gateway.pid,
  }
  return {
    row,
    gateway,
    withNullLog: async () => {
      const { url, pid } = closers.add(await startOnNullLog(gateway, settings.env))
      return { name: 'Tollgate, null log', url: `${url}${CHAT_PATH}`, headers, pid }
    },
  }
}

/** Asks once, so that a row that cannot answer is found before it is measured. @throws */
export async function tryOut(row: Row): Promise<void> {
  const answer = await fetch(row.url, {
    method: 'POST',
    headers: row.headers,
    body: chatBody(false),
  })
  const text = await answer.text()
  if (answer.status !== 200 || !text.includes('paper'))
    throw new Error(`${row.name} answered ${answer.status}: ${text.slice(0, 300)}`)
}
