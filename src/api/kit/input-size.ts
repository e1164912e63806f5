import type { InputSize } from '../../domain/families/text/estimate.ts'

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
  'thoughtSignature',
  'encrypted_content',
])
/** Members that hold bare base64. */
const encoded: ReadonlySet<string> = new Set(['data', 'file_data', 'fileData'])
const dataUri = /^data:[^,]{0,256};base64,/i
const base64Start = /^[A-Za-z0-9+/_=-]{64}/

interface Sum {
  characters: number
  textBytes: number
  mediaBytes: number
}

function addText(sum: Sum, text: string): void {
  sum.characters += text.length
  sum.textBytes += Buffer.byteLength(text)
}

function addString(sum: Sum, key: string, text: string): void {
  const prefix = dataUri.exec(text.slice(0, 320))?.[0].length
  if (prefix !== undefined) sum.mediaBytes += Math.floor(((text.length - prefix) * 3) / 4)
  else if (encoded.has(key) && base64Start.test(text))
    sum.mediaBytes += Math.floor((text.length * 3) / 4)
  else if (!structural.has(key)) addText(sum, text)
}

/** Nesting is bounded where bodies are read. */
function add(sum: Sum, key: string, value: unknown): void {
  if (typeof value === 'string') addString(sum, key, value)
  else if (Array.isArray(value)) for (const item of value as readonly unknown[]) add(sum, key, item)
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) add(sum, name, member)
}

/**
 * What goes into a call, for holds and estimates: text in `prompts` as it stands, `definitions`
 * (tools, schemas) by their JSON text, inline media by decoded bytes.
 */
export function measureInput(
  prompts: readonly unknown[],
  definitions: readonly unknown[],
): InputSize {
  const sum: Sum = { characters: 0, textBytes: 0, mediaBytes: 0 }
  for (const prompt of prompts) add(sum, '', prompt)
  for (const definition of definitions)
    if (definition !== undefined && definition !== null) addText(sum, JSON.stringify(definition))
  return sum
}
