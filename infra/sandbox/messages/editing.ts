import { type Fields, isFields, numberIn, objectsIn, textIn } from '../kit/body.ts'
import { tokensOf } from '../text/order.ts'

/** Edits of a context: results of old tools are cleared before the model reads the conversation. */

const CLEARS_TOOL_USES = 'clear_tool_uses_20250919'
const CLEARED = '[cleared]'
const DEFAULT_TRIGGER_TOKENS = 100_000
const DEFAULT_KEPT_USES = 3

/** An edit that was made, as the answer names it. */
export interface AppliedEdit {
  readonly type: string
  readonly cleared_tool_uses: number
  readonly cleared_input_tokens: number
}

interface Edited {
  readonly messages: readonly Fields[]
  /** Undefined where the request asks for no edits. */
  readonly applied: readonly AppliedEdit[] | undefined
}

const sizeOf = (value: unknown): number => tokensOf(JSON.stringify(value ?? ''))

const isResult = (block: Fields): boolean => block['type'] === 'tool_result'

function resultsIn(messages: readonly Fields[]): readonly Fields[] {
  return messages.flatMap(({ content }) => objectsIn(content)).filter(isResult)
}

/** Whether the conversation has grown to where an edit begins. */
function isTriggered(messages: readonly Fields[], results: number, trigger: unknown): boolean {
  const { type, value } = isFields(trigger)
    ? { type: textIn(trigger, 'type'), value: numberIn(trigger, 'value') }
    : { type: null, value: null }
  return type === 'tool_uses'
    ? results > (value ?? 0)
    : sizeOf(messages) > (value ?? DEFAULT_TRIGGER_TOKENS)
}

function cleared(messages: readonly Fields[], old: ReadonlySet<Fields>): readonly Fields[] {
  return messages.map((message) => {
    const { content } = message
    if (!Array.isArray(content)) return message
    const blocks = content.map((block: unknown) =>
      isFields(block) && old.has(block) ? { ...block, content: CLEARED } : block,
    )
    return { ...message, content: blocks }
  })
}

/** The conversation as the model reads it. */
export function edited(messages: readonly Fields[], management: unknown): Edited {
  const edits = isFields(management) ? objectsIn(management['edits']) : []
  if (edits.length === 0) return { messages, applied: undefined }
  const edit = edits.find((one) => one['type'] === CLEARS_TOOL_USES)
  const results = resultsIn(messages)
  if (edit === undefined || !isTriggered(messages, results.length, edit['trigger']))
    return { messages, applied: [] }
  const kept = isFields(edit['keep']) ? numberIn(edit['keep'], 'value') : null
  const old = results
    .slice(0, Math.max(0, results.length - (kept ?? DEFAULT_KEPT_USES)))
    .filter(({ content }) => content !== CLEARED)
  if (old.length === 0) return { messages, applied: [] }
  const tokens = old.reduce((sum, { content }) => sum + sizeOf(content), 0)
  const applied = {
    type: CLEARS_TOOL_USES,
    cleared_tool_uses: old.length,
    cleared_input_tokens: Math.max(0, tokens - old.length * sizeOf(CLEARED)),
  }
  return { messages: cleared(messages, new Set(old)), applied: [applied] }
}
