import {
  type InputSize,
  LARGEST_IMAGE,
  type LinkedMediaKind,
  mediumTokens,
} from '../rules/tokens.ts'
import { isJsonObject, type JsonObject } from '../../../kernel/json.ts'
import { isLargeJson } from '../../../kernel/write-json.ts'

/** Members whose text is no input of the model: names of the wire, references, addresses. */
const structural: ReadonlySet<string> = new Set([
  'role',
  'type',
  'id',
  'call_id',
  'tool_call_id',
  'detail',
  'status',
  'format',
  'mime_type',
  'mimeType',
  'url',
  'image_url',
  'file_id',
  'file_url',
  'fileUri',
  'file_uri',
  'level',
  'mediaResolution',
])
/** Members that hold bare base64. */
const encoded: ReadonlySet<string> = new Set(['data', 'file_data', 'fileData'])
/** Members that are text whatever it looks like. */
const spoken: ReadonlySet<string> = new Set([
  'text',
  'content',
  'arguments',
  'input',
  'output',
  'refusal',
  'thinking',
  'reasoning',
  'reasoning_content',
  'code',
  'name',
  '',
])
/** Objects of anything, which the model reads as they are: arguments and results of functions. */
const verbatim: ReadonlySet<string> = new Set(['args', 'response'])
const TOOL_USE = /tool_use$/
/** A result of a tool or a search: its address was already looked up. */
const RESULT = /_result$/
/** The member with the address of an image that has no level of detail: its size is not known. */
const SOURCE = 'source'
/** Members with the findings and citations of an answer: their addresses were already looked up. */
const found: ReadonlySet<string> = new Set([
  'annotations',
  'action',
  'sources',
  'results',
  'citations',
  'citationMetadata',
  'groundingMetadata',
])

const dataUri = /^data:([^,;]{0,128})[^,]{0,128};base64,/i
const base64Start = /^[A-Za-z0-9+/_=-]{64}/
const address = /^[a-z][a-z0-9+.-]{1,15}:\/\/\S+$/i
/** Longest text that is checked for being an address. */
const MAX_ADDRESS_CHARACTERS = 16_384

interface Sum {
  characters: number
  textBytes: number
  mediaBytes: number
  heldTokens: number
}

/** Where a member stands. */
interface MemberContext {
  /** The member itself, and the one that holds its object. */
  readonly key: string
  readonly above: string
  /** The object of the member, and the type of the object that holds this one. */
  readonly holder: JsonObject
  readonly outerType: string
  /** Resolution of media, where an object around it sets it. */
  readonly detail: string | undefined
}

const nowhere: MemberContext = {
  key: '',
  above: '',
  holder: {},
  outerType: '',
  detail: undefined,
}

function typeOf({ type }: JsonObject): string {
  return typeof type === 'string' ? type : ''
}

function addText(sum: Sum, text: string): void {
  sum.characters += text.length
  sum.textBytes += Buffer.byteLength(text)
}

/** What an address leads to, by the names around it; a media type says most. */
function mediumOf(
  { key, above, holder, outerType }: MemberContext,
  inline: string | undefined,
): LinkedMediaKind {
  const mediaType = inline ?? holder['mimeType'] ?? holder['mime_type'] ?? holder['media_type']
  const names =
    typeof mediaType === 'string' ? mediaType : `${key} ${above} ${typeOf(holder)} ${outerType}`
  if (/video|fileUri|file_uri/i.test(names)) return 'video'
  if (/audio/i.test(names)) return 'audio'
  return /image|screenshot/i.test(names) ? 'image' : 'document'
}

function addString(sum: Sum, text: string, place: MemberContext): void {
  const { key, above, holder } = place
  const inline = dataUri.exec(text.slice(0, 320))
  if (inline !== null) {
    sum.mediaBytes += Math.floor(((text.length - inline[0].length) * 3) / 4)
    // The byte count of a picture does not show its size in pixels.
    if (mediumOf(place, inline[1]) === 'image')
      sum.heldTokens += mediumTokens('image', place.detail)
  } else if (isThought(holder) && encoded.has(key)) addText(sum, text)
  else if (encoded.has(key) && base64Start.test(text)) {
    sum.mediaBytes += Math.floor((text.length * 3) / 4)
    if (mediumOf(place, undefined) === 'image')
      sum.heldTokens += mediumTokens('image', place.detail)
  } else if (!spoken.has(key) && text.length <= MAX_ADDRESS_CHARACTERS && address.test(text)) {
    if (RESULT.test(typeOf(holder))) return
    const detail = above === SOURCE ? LARGEST_IMAGE : place.detail
    sum.heldTokens += mediumTokens(mediumOf(place, undefined), detail)
  } else if (!structural.has(key)) addText(sum, text)
}

/** Thoughts that only their model can read are bare base64 and not media. */
function isThought(holder: JsonObject): boolean {
  return /thinking|reasoning/i.test(typeOf(holder))
}

/** Nesting is bounded where bodies are read. */
function add(sum: Sum, value: unknown, place: MemberContext): void {
  if (typeof value === 'string') addString(sum, value, place)
  else if (Array.isArray(value))
    for (const item of value as readonly unknown[]) add(sum, item, place)
  else if (isJsonObject(value)) addObject(sum, value, place)
}

function addObject(sum: Sum, object: JsonObject, place: MemberContext): void {
  const { key, detail } = place
  const isInput = key === 'input' && TOOL_USE.test(typeOf(place.holder))
  if (isInput || verbatim.has(key)) return addText(sum, JSON.stringify(object))
  if (found.has(key)) return addFound(sum, object, key)
  const within = levelOf(object) ?? detail
  const outerType = typeOf(place.holder)
  for (const name in object)
    add(sum, object[name], { key: name, above: key, holder: object, outerType, detail: within })
}

/** The text unchanged, except for names and addresses. */
function addFound(sum: Sum, value: unknown, key: string): void {
  if (typeof value === 'string') {
    if (!structural.has(key)) addText(sum, value)
  } else if (Array.isArray(value))
    for (const item of value as readonly unknown[]) addFound(sum, item, key)
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) addFound(sum, member, name)
}

/** `detail: "low"`, or `mediaResolution: {level: "MEDIA_RESOLUTION_LOW"}`. */
function levelOf(object: JsonObject): string | undefined {
  const { detail, mediaResolution: resolution } = object
  if (typeof detail === 'string') return detail
  const level = isJsonObject(resolution) ? resolution['level'] : resolution
  return typeof level === 'string' ? level : undefined
}

/**
 * What goes into a call, for holds and estimates: text in `prompts` as it stands, `definitions`
 * (tools, schemas) by their JSON text, inline media by decoded bytes. The hold also covers each
 * image, each file by its address, and possible input in `others`: members that are only passed on,
 * except for those that are already `measured` or are no input.
 */
export function measureInput(
  prompts: readonly unknown[],
  definitions: readonly unknown[],
  others: JsonObject = {},
  measured: ReadonlySet<string> = NONE,
): InputSize {
  const meter = new InputMeter()
  for (const prompt of prompts) meter.addPrompt(prompt)
  for (const definition of definitions) meter.addDefinition(definition)
  return meter.size(others, measured)
}

/** Does as `measureInput`, for a wire that measures a large body part by part. */
export class InputMeter {
  readonly #sum: Sum = { characters: 0, textBytes: 0, mediaBytes: 0, heldTokens: 0 }

  addPrompt(prompt: unknown): void {
    add(this.#sum, prompt, nowhere)
  }

  addDefinition(definition: unknown): void {
    if (definition === undefined || definition === null) return
    addText(this.#sum, JSON.stringify(definition))
  }

  /** Takes the JSON of a large definition for about as long as it is. */
  addRoughly(definition: unknown): void {
    if (!isLargeJson(definition)) return this.addDefinition(definition)
    const bytes = roughBytes(definition)
    this.#sum.characters += bytes
    this.#sum.textBytes += bytes
  }

  size(others: JsonObject, measured: ReadonlySet<string>): InputSize {
    const { heldTokens, ...size } = this.#sum
    const held = heldTokens + passedOnTokens(others, measured)
    return held === 0 ? size : { ...size, heldTokens: held }
  }
}

const PASSED_ON_BYTES_PER_TOKEN = 4
/** A value of more bytes is not written to be measured. */
const MOST_BYTES_WRITTEN = 64 * 1024
const NONE: ReadonlySet<string> = new Set()

/** The bytes of its JSON, of a large value about as many. */
function jsonBytes(value: unknown): number {
  const bytes = roughBytes(value)
  return bytes > MOST_BYTES_WRITTEN ? bytes : Buffer.byteLength(JSON.stringify(value) ?? '')
}

function roughBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  let bytes = 2
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) bytes += roughBytes(item) + 1
    return bytes
  }
  for (const name in value) bytes += roughBytes(Reflect.get(value, name)) + name.length + 4
  return bytes
}

/** Figures and switches are no input; texts, lists and objects may be. */
function passedOnTokens(others: JsonObject, measured: ReadonlySet<string>): number {
  let bytes = 0
  for (const name in others) {
    const value = others[name]
    if (measured.has(name)) continue
    if (typeof value === 'string' || (typeof value === 'object' && value !== null))
      bytes += jsonBytes(value)
  }
  return Math.ceil(bytes / PASSED_ON_BYTES_PER_TOKEN)
}
