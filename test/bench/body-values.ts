import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { MAX_KEPT_TEXT_VALUES } from '../../src/api/kit/bodies/json-bounds.ts'
import { readStrictJson } from '../../src/api/kit/bodies/strict-json.ts'
import type { Span } from '../../src/kernel/json-text.ts'
import type { Work } from '../../src/kernel/turns.ts'
import type { Benchmark, Figure } from './figure.ts'
import { sized } from './kit/sizes.ts'

/**
 * Bodies of as many values as one may have whose text goes on: processor time to read one, the longest part
 * of that, which holds the event loop, and the memory of its values. A session of an agent, then the shapes
 * that need the most for their size.
 */

const VALUES = sized(MAX_KEPT_TEXT_VALUES, 2_000) - 10
const ROUNDS = 5
const MIB = 1024 * 1024

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const list = (count: number, one: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => one(at)).join(',')

/** Values of a use of a tool and its result. */
const VALUES_OF_USE = 18

function toolUse(at: number): string {
  const id = `toolu_01AbCdEfGhIjKlMn${at}`
  const input = { file_path: `src/part-${at}.ts`, old: `const a = ${at}`, new: 'const a = 1' }
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'Edit', input }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: `done ${at}` }] },
  ]
    .map((message) => JSON.stringify(message))
    .join(',')
}

const shapes: Readonly<Record<string, () => string>> = {
  'a session of uses of tools': () => list(Math.floor(VALUES / VALUES_OF_USE), toolUse),
  'empty objects': () => list(VALUES, () => '{}'),
  'objects, each with a name of its own': () => list(VALUES / 2, (at) => `{"a${at}":1}`),
  'nested objects with names of their own': () =>
    list(Math.floor(VALUES / 3), (at) => `{"a${at}":{"b${at}":[]}}`),
  'arguments with as many members as one may have': () =>
    list(4, () => `{"input":{${list(VALUES / 4 - 2, (at) => `"m${at}":1`)}}}`),
}

/** Processor time so far, in milliseconds: other programs of the machine do not count. */
function spentMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Reads a text part by part. */
function readInParts(work: Work<unknown>) {
  const begunMs = spentMs()
  let longestMs = 0
  let beforeMs = begunMs
  for (;;) {
    const step = work.next()
    const nowMs = spentMs()
    longestMs = Math.max(longestMs, nowMs - beforeMs)
    beforeMs = nowMs
    if (step.done === true) return { value: step.value, longestMs, cpuMs: nowMs - begunMs }
  }
}

function measure(text: string) {
  collectGarbage()
  const heapBytes = process.memoryUsage().heapUsed
  const work = readStrictJson(text, true, new Map<string, Span>())
  const { value, longestMs, cpuMs } = readInParts(work)
  collectGarbage()
  const bytes = process.memoryUsage().heapUsed - heapBytes
  if (typeof value !== 'object') throw new Error('it was not read')
  return { cpuMs, longestMs, bytes }
}

function figuresOf(name: string, messages: string): readonly Figure[] {
  // The text of a body is one piece, too.
  const text = Buffer.from(`{"messages":[${messages}]}`).toString('latin1')
  const rounds = Array.from({ length: ROUNDS }, () => measure(text))
  const least = (of: (round: (typeof rounds)[number]) => number) => Math.min(...rounds.map(of))
  const mib = least(({ bytes }) => bytes) / MIB
  return [
    {
      name: `${name}: processor time to read it`,
      value: least(({ cpuMs }) => cpuMs),
      unit: 'ms',
      reach: 500,
      bound: 'most',
      note: `${(text.length / MIB).toFixed(2)} MiB of text`,
    },
    {
      name: `${name}: longest part`,
      value: least(({ longestMs }) => longestMs),
      unit: 'ms',
      reach: 10,
      bound: 'most',
    },
    {
      name: `${name}: memory of its values`,
      value: mib,
      unit: 'MiB',
      reach: 32,
      bound: 'most',
      note: `${((mib * MIB) / text.length).toFixed(1)} × its text`,
    },
  ]
}

export const run: Benchmark = () =>
  Promise.resolve(Object.entries(shapes).flatMap(([name, make]) => figuresOf(name, make())))
