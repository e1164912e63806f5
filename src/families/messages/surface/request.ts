import { type TObject, type TSchema, Type } from 'typebox'
import { refuse } from '../../../domain/catalog/checks/fields.ts'
import { readBody } from '../../../kernel/body.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import type { Work } from '../../../kernel/turns.ts'
import type { InputSize } from '../../text/rules/tokens.ts'
import {
  AnyObject,
  ModelName,
  open,
  OutputBound,
  refuseUnmetered,
  Stream,
} from '../../text/surface/bodies.ts'
import { InputMeter } from '../../text/surface/input-size.ts'
import { messagesRules } from '../rules/wire.ts'

/**
 * The body of a message. Providers of this wire refuse unknown members themselves. A body may have
 * many values, so it is read in parts, between which other callers are served.
 */

/** The schema of an item of a list that is checked item by item. */
const Unchecked = Type.Unknown()

const blocks = (block: TSchema) =>
  Type.Union([Type.String(), Type.Array(block)], {
    words: 'must be a string or an array of blocks',
    description: 'Text, or an array of blocks.',
  })

const message = (block: TSchema) =>
  Type.Object(
    { role: Type.String({ minLength: 1 }), content: blocks(block) },
    { named: 'Message', ...open, knownExtraFields: '*' },
  )

/** The most entries of `tools`: each is looked at several times. */
const MAX_TOOLS = 10_000

const example = { model: 'text-basic', messages: [{ role: 'user', content: 'Hello' }] }

const others = {
  ...open,
  description:
    'Other members are passed on, except those that change the price or the payer, and those that name something an account keeps.',
  knownExtraFields: '*',
} as const

/** Members of a prompt. */
const promptMembers = (one: TSchema, block: TSchema) => ({
  model: ModelName,
  messages: Type.Array(one, { minItems: 1, words: { minItems: 'must not be empty' } }),
  system: Type.Optional(blocks(block)),
  tools: Type.Optional(Type.Array(block, { maxItems: MAX_TOOLS })),
})
const callMembers = { max_tokens: OutputBound, stream: Type.Optional(Stream) }

/** Only the members that the gateway reads: new ones arrive with each release of the clients. */
export const MessagesBodySchema = Type.Object(
  { ...promptMembers(message(AnyObject), AnyObject), ...callMembers },
  { ...others, named: 'MessageRequest', examples: [{ ...example, max_tokens: 64 }] },
)

/** A message whose tokens are counted: it has no bound of its output and is no stream. */
export const MessageCountBodySchema = Type.Object(promptMembers(message(AnyObject), AnyObject), {
  ...others,
  named: 'MessageCountRequest',
  examples: [example],
})

/** Members of bodies without the items of their lists, which are checked one by one. */
const outermostMembers = promptMembers(Unchecked, Unchecked)
const OutermostCallSchema = Type.Object({ ...outermostMembers, ...callMembers }, open)
const OutermostCountSchema = Type.Object(outermostMembers, open)
const MessageSchema = message(Unchecked)

/** The members of an object that a schema describes, without the items of lists. */
function outermost({ properties }: TObject, object: JsonObject): JsonObject {
  const found: Record<string, unknown> = {}
  for (const name in properties) {
    const value = Object.hasOwn(object, name) ? object[name] : undefined
    const length = Array.isArray(value) ? Math.min(value.length, MAX_TOOLS + 1) : 0
    found[name] = Array.isArray(value) ? Array.from({ length }) : value
  }
  return found
}

/** A messages request for the use case. */
interface MessagesRequest {
  readonly model: string
  readonly stream: boolean
  readonly body: JsonObject
  readonly inputSize: InputSize
}

/** Members that name something an account keeps; all tenants share the account (P8). */
const KEPT: ReadonlySet<string> = new Set([
  'file_id',
  'previous_message_id',
  'container',
  'container_id',
  'skill_id',
  'thread',
  'thread_id',
])

/** Members whose objects are the caller's or the model's own, so that names mean nothing in them. */
const ofTools: ReadonlySet<string> = new Set(['input_schema', 'input_examples'])
const TOOL_USE = /tool_use$/

function isOwn(name: string, { type }: JsonObject, isTool: boolean): boolean {
  if (isTool) return ofTools.has(name)
  return name === 'input' && typeof type === 'string' && TOOL_USE.test(type)
}

/** Values that are looked at in one part. */
const VALUES_AT_ONCE = 1_024

/** The place in an object or a list on the way to a value. */
interface Step {
  readonly holder: JsonObject | readonly unknown[]
  /** The names of an object; absent: a list. */
  readonly names: readonly string[] | undefined
  readonly length: number
  /** The next member or item. */
  next: number
}

function stepInto(holder: object): Step {
  if (Array.isArray(holder)) return { holder, names: undefined, length: holder.length, next: 0 }
  const names = Object.keys(holder)
  return { holder: holder as JsonObject, names, length: names.length, next: 0 }
}

function pathOf(steps: readonly Step[]): string {
  const path = steps.map(({ names, next }) => (names ? `.${names[next - 1]}` : `[${next - 1}]`))
  return path.join('').slice(1)
}

/** @throws DomainError `invalid_request` for a member that names something an account keeps */
function* refuseKept(sent: JsonObject): Work<void> {
  const steps = [stepInto(sent)]
  for (let looked = 1; ; looked += 1) {
    if (looked % VALUES_AT_ONCE === 0) yield
    const step = steps.at(-1)
    if (step === undefined) return
    if (step.next === step.length) {
      steps.pop()
      continue
    }
    const name = step.names?.[step.next]
    const value: unknown = Reflect.get(step.holder, name ?? step.next)
    step.next += 1
    if (typeof value === 'string') {
      if (name !== undefined && KEPT.has(name)) refuseAt(pathOf(steps))
    } else if (typeof value === 'object' && value !== null) {
      const isTool = steps.length === 3 && steps[0]?.names?.[steps[0].next - 1] === 'tools'
      if (name === undefined || !isOwn(name, step.holder as JsonObject, isTool))
        steps.push(stepInto(value))
    }
  }
}

function refuseAt(at: string): never {
  return refuse(
    at,
    `\`${at}\` is not offered: it names something that the model service keeps; send the content itself or its URL`,
  )
}

/** Members that choose the payer, or a price that only the account knows. */
const ofPayer = ['fallback_credit_token', 'billing_policy', 'user_profile_id', 'workspace_id']

const isGivenIn = (sent: JsonObject, name: string): boolean =>
  Object.hasOwn(sent, name) && sent[name] !== null

/** Members that are measured separately, or are no input. */
const measured: ReadonlySet<string> = new Set(
  `model messages system tools metadata thinking output_config context_management cache_control
  tool_choice stop_sequences`.split(/\s+/),
)

/** Refuses an item that is no object. @throws DomainError `invalid_request` */
function refuseItem(at: string): never {
  return refuse(at, `\`${at}\` must be an object`)
}

/** Checks blocks, and measures them by parts where there are many. */
function* readBlocks(holder: JsonObject, at: string, meter: InputMeter): Work<void> {
  const { content, ...rest } = holder
  if (!Array.isArray(content)) return meter.addPrompt(holder)
  const isShort = content.length <= VALUES_AT_ONCE
  meter.addPrompt(isShort ? holder : rest)
  for (let from = 0; from < content.length; from += VALUES_AT_ONCE) {
    if (from > 0) yield
    const part: readonly unknown[] = isShort ? content : content.slice(from, from + VALUES_AT_ONCE)
    for (let index = 0; index < part.length; index += 1)
      if (!isJsonObject(part[index])) refuseItem(`${at}[${from + index}]`)
    if (!isShort) meter.addPrompt({ content: part })
  }
}

/** Whether a message is as its schema says, which need not be asked then. */
function isUsual({ role, content }: JsonObject): boolean {
  const isContent = typeof content === 'string' || Array.isArray(content)
  return isContent && typeof role === 'string' && role !== ''
}

/** Messages that are read in one part, and tools. */
const ITEMS_AT_ONCE = 128

function* readItems({ messages, system, tools }: JsonObject, meter: InputMeter): Work<void> {
  yield* readBlocks({ content: system }, 'system', meter)
  for (const [index, item] of (messages as readonly unknown[]).entries()) {
    if (index % ITEMS_AT_ONCE === ITEMS_AT_ONCE - 1) yield
    const at = `messages[${index}]`
    if (!isJsonObject(item)) refuseItem(at)
    if (!isUsual(item))
      readBody(MessageSchema, outermost(MessageSchema, item), `/messages/${index}`)
    yield* readBlocks(item, `${at}.content`, meter)
  }
  for (const [index, tool] of ((tools ?? []) as readonly unknown[]).entries()) {
    if (index % ITEMS_AT_ONCE === ITEMS_AT_ONCE - 1) yield
    const at = `tools[${index}]`
    if (!isJsonObject(tool)) refuseItem(at)
    refuseUnmetered(messagesRules, tool, at)
    meter.addRoughly(tool)
  }
}

/** @throws DomainError `invalid_request`, naming the field */
export function* readMessages(sent: JsonObject): Work<MessagesRequest> {
  const { model, stream = false } = readBody(
    OutermostCallSchema,
    outermost(OutermostCallSchema, sent),
  )
  const { stream: _stream, ...prompt } = sent
  return { stream, ...(yield* readPrompt(prompt, model)) }
}

/** @throws DomainError `invalid_request`, naming the field */
export function* readMessageCount(sent: JsonObject): Work<Omit<MessagesRequest, 'stream'>> {
  const { model } = readBody(OutermostCountSchema, outermost(OutermostCountSchema, sent))
  return yield* readPrompt(sent, model)
}

function* readPrompt(sent: JsonObject, model: string): Work<Omit<MessagesRequest, 'stream'>> {
  for (const name of ofPayer)
    if (isGivenIn(sent, name))
      refuse(name, `\`${name}\` is not accepted here: the gateway chooses the account that pays`)
  const meter = new InputMeter()
  yield* readItems(sent, meter)
  yield* refuseKept(sent)
  const { model: _model, ...body } = sent
  return { model, body, inputSize: meter.size(sent, measured) }
}
