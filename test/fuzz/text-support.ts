import * as fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import { character } from '../helpers/characters.ts'

/** Bodies that every rule accepts and that use most of what can be written. */
export const goodBodies: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    model: 'text-basic',
    messages: [
      { role: 'system', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function' }] },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ],
    temperature: 1,
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    functions: [{ name: 'g' }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
    seed: 1,
  },
  '/v1/responses': {
    model: 'text-basic',
    input: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'image_url', image_url: { url: 'https://e.com/a.png', detail: 'low' } },
          { type: 'file', file: { file_data: 'QUJD', filename: 'a' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
      { type: 'function_call_output', call_id: 'c', output: 'x' },
    ],
    instructions: 'Be brief',
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } },
    text: { verbosity: 'low' },
    stream: true,
    temperature: 1,
    tools: [{ type: 'function', function: { name: 'f' } }, { type: 'web_search_preview' }],
    tool_choice: { type: 'function', function: { name: 'f' } },
    background: false,
  },
  '/v1beta/models/gen-3-pro-preview-file:generateContent': {
    system_instruction: { parts: [{ text: 'Be brief' }] },
    contents: [
      {
        role: 'user',
        parts: [
          { text: 'Hello', thought_signature: 'QUJD' },
          { inline_data: { mime_type: 'audio/mp3', data: 'QUJD' } },
          {
            fileData: { mimeType: 'video/mp4', fileUri: 'https://hooks.example.com/a' },
            videoMetadata: { startOffset: '1s' },
          },
        ],
      },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
    ],
    generationConfig: {
      temperature: 1,
      topP: 1,
      maxOutputTokens: 1,
      stopSequences: ['x'],
      thinkingConfig: { thinkingLevel: 'high', thinkingBudget: -1, includeThoughts: true },
    },
    temperature: 1,
    max_tokens: 1,
    top_p: 1,
    stop: ['x'],
    tools: [{ function_declarations: [] }],
  },
}

const names = [
  'model',
  'messages',
  'input',
  'contents',
  'role',
  'content',
  'parts',
  'type',
  'text',
  'image_url',
  'file',
  'url',
  'function',
  'name',
  'inline_data',
  'inlineData',
  'fileData',
  'mime_type',
  'mimeType',
  'data',
  'fileUri',
  'stream',
  'stream_options',
  'include_usage',
  'tools',
  'response_format',
  'json_schema',
  'generationConfig',
  'generation_config',
  'thinkingConfig',
  'temperature',
  'stop',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'length',
  '__proto__',
  '',
] as const

/** Values that surprise: of every type, at every edge. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      -0,
      -1,
      1e308,
      2 ** 53,
      0.1,
      '',
      'user',
      'assistant',
      'text',
      'function',
      'json_schema',
      'image_url',
      'file',
      'data:image/png;base64,QUJD',
      'data:;base64,',
      'https://127.0.0.1/',
      'https://hooks.example.com/x',
      '\u0000',
      '\ud800',
      '💩',
      'a'.repeat(5_000),
      [],
      {},
    ),
    fc.string({ unit: character, maxLength: 20 }),
    fc.double(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof({ weight: 4, arbitrary: fc.constantFrom<string>(...names) }, fc.string()),
      tie('value'),
      { maxKeys: 4, noNullPrototype: false },
    ),
  ),
})).value

interface Change {
  /** Which of the places in the body, counted through. */
  readonly place: number
  readonly how: 'replace' | 'remove' | 'add' | 'repeat'
  readonly name: string
  readonly value: unknown
}

export const anyChange: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(200),
  how: fc.constantFrom<Change['how']>('replace', 'replace', 'remove', 'add', 'repeat'),
  name: fc.oneof(fc.constantFrom<string>(...names), fc.string({ maxLength: 12 })),
  value: anyValue,
})

type Holder = Record<string | number, unknown>

function holdersOf(value: unknown, found: (readonly [Holder, string])[] = []) {
  if (typeof value === 'object' && value !== null)
    for (const key of Object.keys(value)) {
      const holder = value as Holder
      found.push([holder, key])
      holdersOf(holder[key], found)
    }
  return found
}

/** A body with some of its members changed; the original stays as it is. */
export function changed(body: object, changes: readonly Change[]): object {
  const copy: Holder = { body: structuredClone(body) }
  for (const { place, how, name, ...change } of changes) {
    // A copy: another change may go into it, and it is used again.
    const value = structuredClone(change.value)
    const places = holdersOf(copy)
    const target = places[place % Math.max(1, places.length)]
    if (target === undefined) continue
    const [holder, key] = target
    const inner = holder[key]
    if (how === 'replace') holder[key] = value
    else if (how === 'remove' && key !== 'body') delete holder[key]
    else if (how === 'add' && isRecord(inner))
      Object.defineProperty(inner, name, {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      })
    else if (Array.isArray(inner)) inner.push(...(inner as readonly unknown[]))
  }
  const { body: result } = copy
  return typeof result === 'object' && result !== null ? result : {}
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hasShape(url: string, body: unknown): boolean {
  if (!isRecord(body) || !isRecord(body['error'])) return false
  const { error } = body
  if (typeof error['message'] !== 'string' || error['message'] === '') return false
  // Native generation has its shape below `/v1` too.
  if (
    /^\/v1beta(?:[/?#]|$)|^\/v1\/models\/[^/?#]*(?::|%3a)(?:streamG|g)enerateContent(?:[?#]|$)/i.test(
      url,
    )
  )
    return Number.isInteger(error['code']) && typeof error['status'] === 'string'
  if (!/^\/v1(?:[/?#]|$)/.test(url)) return typeof error['code'] === 'string'
  return (
    Object.keys(error).join() === 'message,type,param,code' && typeof error['type'] === 'string'
  )
}

const expected: ReadonlySet<number> = new Set([200, 400, 401, 403, 404, 405, 413, 415, 431])

/** Why an answer breaks a promise; undefined when it keeps them. */
export function textComplaint(url: string, answer: LightMyRequestResponse): string | undefined {
  const said = `${answer.statusCode} for ${url.slice(0, 200)}: ${answer.body.slice(0, 300)}`
  if (!expected.has(answer.statusCode)) return said
  if (!String(answer.headers['x-request-id']).startsWith('req_')) return `no request id: ${said}`
  if (answer.statusCode === 200) return undefined
  if (/\bat .*\.ts:\d|node_modules|FST_ERR/.test(answer.body)) return said
  try {
    return hasShape(url, JSON.parse(answer.body)) ? undefined : `wrong shape: ${said}`
  } catch {
    return `not JSON: ${said}`
  }
}
