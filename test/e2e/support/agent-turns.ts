import { eventsIn } from '../../infra/sandbox/text-client.ts'
import type { Answer } from './client.ts'

/** An answer as an agent keeps it for its next request. */
export interface Turn {
  /** Why it ended, or the type of its last item; undefined where it is not whole. */
  readonly ends: string | undefined
  /** The model's part of the conversation, which goes back in the next turn. */
  readonly said: readonly unknown[]
  /** The id of the first tool that it used. */
  readonly tool: string | undefined
}

// oxlint-disable-next-line typescript/no-explicit-any -- every wire has another shape
type Loose = any

/** The JSON of each event; `[DONE]` has none. */
const jsonIn = (text: string): readonly Loose[] =>
  eventsIn(text).flatMap(({ json }) => (json === undefined ? [] : [json]))

/** Puts the pieces of a streamed block of messages together. */
function grow(block: Loose, { text, thinking, signature, partial_json: json }: Loose): void {
  if (text !== undefined) block.text += text
  if (thinking !== undefined) block.thinking += thinking
  if (signature !== undefined) block.signature = signature
  if (json !== undefined) block.json = `${block.json ?? ''}${json}`
}

function messageTurn({ text, body }: Answer): Turn {
  const content: Loose[] = body?.content ?? []
  let ends: string | undefined = body?.stop_reason
  for (const { type, index, content_block: begun, delta } of body ? [] : jsonIn(text))
    if (type === 'content_block_start') content[index] = { ...begun }
    else if (type === 'content_block_delta') grow(content[index], delta)
    else if (type === 'message_delta') ends = delta.stop_reason ?? undefined
  const whole = content.map(({ json, ...block }) =>
    json === undefined ? block : { ...block, input: JSON.parse(json) },
  )
  return {
    ends: body !== undefined || jsonIn(text).at(-1)?.type === 'message_stop' ? ends : undefined,
    said: [{ role: 'assistant', content: whole }],
    tool: whole.find(({ type }) => type === 'tool_use')?.id,
  }
}

function chatTurn({ text, body }: Answer): Turn {
  const chunks = body === undefined ? jsonIn(text) : []
  const message: Loose = body?.choices[0].message ?? { role: 'assistant', content: null }
  let ends: string | undefined = body?.choices[0].finish_reason
  for (const { choices } of chunks)
    for (const { delta, finish_reason: reason } of choices) {
      ends = reason ?? ends
      if (typeof delta.content === 'string')
        message.content = `${message.content ?? ''}${delta.content}`
      for (const { index, id, type, function: called } of delta.tool_calls ?? []) {
        const calls = (message.tool_calls ??= [])
        calls[index] ??= { id, type, function: { name: called.name, arguments: '' } }
        calls[index].function.arguments += called.arguments ?? ''
      }
    }
  return {
    ends: body !== undefined || text.endsWith('data: [DONE]\n\n') ? ends : undefined,
    said: [message],
    tool: message.tool_calls?.[0].id,
  }
}

function responseTurn({ text, body }: Answer): Turn {
  const events = body === undefined ? jsonIn(text) : []
  const items: readonly Loose[] =
    body?.output ??
    events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []))
  const isWhole =
    body?.status === 'completed' ||
    // A compacted conversation has no status.
    body?.object === 'response.compaction' ||
    events.at(-1)?.type === 'response.completed'
  return {
    ends: isWhole ? items.at(-1)?.type : undefined,
    said: items,
    tool: items.find(({ type }) => type === 'function_call')?.call_id,
  }
}

function nativeTurn({ text, body }: Answer): Turn {
  const frames: readonly Loose[] = body === undefined ? jsonIn(text) : [body]
  const candidates = frames.flatMap(({ candidates: some }) => some ?? [])
  const parts: readonly Loose[] = candidates.flatMap(({ content }) => content?.parts ?? [])
  return {
    ends: candidates.at(-1)?.finishReason,
    said: [{ role: 'model', parts }],
    tool: parts.find(({ functionCall }) => functionCall)?.functionCall.id,
  }
}

/** Reads a whole or streamed answer of the wire that its path belongs to. */
export function turnOf(path: string, answer: Answer): Turn {
  if (path.startsWith('/v1/messages')) return messageTurn(answer)
  if (path.startsWith('/v1/chat/')) return chatTurn(answer)
  return path.startsWith('/v1/responses') ? responseTurn(answer) : nativeTurn(answer)
}
