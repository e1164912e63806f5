import { setTimeout as sleep } from 'node:timers/promises'
import { Repeats } from '../calls/order.ts'
import type { Ordered } from '../calls/witness.ts'
import type { Answer, Call } from '../caller.ts'
import type { Dice } from '../random.ts'
import type { Traffic } from '../traffic.ts'
import type { Witness } from '../witness.ts'
import { newCloneOrder, newSpeechOrder, type SpeechOrder } from './orders.ts'

/** Callers of one tenant that have texts spoken, samples kept and voices cloned, until told to stop. */

const WORKERS = 1
const MAX_KNOWN = 12
const UPLOAD = '/provB/v1/files/upload'
export const RETRIEVE = '/provB/v1/files/retrieve'
const SAMPLE_SECONDS = 11
const BYTES_A_SECOND = 800
/** The frame after which a stream is whole. */
const LAST_FRAME = /^data: \{"data":\{[^\n]*"status":2[,}]/m

interface Worker {
  readonly dice: Dice
  readonly call: Call
  readonly witness: Witness
  readonly name: string
  readonly focus: () => string | undefined
  /** Ids of samples this worker has uploaded, and names of voices cloned of them. */
  readonly fileIds: string[]
  readonly voices: string[]
  /** What this worker sent under a key. */
  readonly repeats: Repeats
  made: number
}

export function startSpeechTraffic(
  dice: Dice,
  options: {
    readonly caller: () => Call
    readonly witness: Witness
    readonly focus: () => string | undefined
  },
): Traffic {
  const stopping = new AbortController()
  const work = Array.from({ length: WORKERS }, async (_, index) => {
    const name = `s${index}`
    const own = { fileIds: [], voices: [], repeats: new Repeats(), made: 0 }
    const worker: Worker = {
      ...options,
      ...own,
      dice: dice.fork(name),
      call: options.caller(),
      name,
    }
    while (!stopping.signal.aborted) {
      await act(worker)
      await sleep(worker.dice.integer(20, 160))
    }
  })
  return {
    stop: async () => {
      stopping.abort()
      await Promise.all(work)
    },
  }
}

function act(worker: Worker): Promise<void> {
  const { dice, fileIds, repeats } = worker
  const focus = worker.focus() ?? ''
  return dice.weighted<() => Promise<void>>([
    [40, () => speak(worker)],
    [focus.startsWith('upload.') ? 60 : 8, () => upload(worker)],
    [fileIds.length === 0 ? 0 : focus.startsWith('voice.') ? 60 : 10, () => clone(worker)],
    [fileIds.length === 0 ? 0 : 6, () => retrieve(worker, dice.pick(fileIds))],
    [repeats.some ? 12 : 0, () => repeats.sendOne(dice)],
  ])()
}

function nextMarker(worker: Worker): string {
  worker.made += 1
  return `${worker.name}-${worker.made}`
}

function speak(worker: Worker): Promise<void> {
  const order = newSpeechOrder(worker.dice, nextMarker(worker), worker.voices)
  return send(worker, order).then(() => undefined)
}

async function clone(worker: Worker): Promise<void> {
  const { dice, fileIds, voices, witness } = worker
  const order = newCloneOrder(dice, nextMarker(worker), dice.pick(fileIds))
  const ordered = await send(worker, order)
  if (!ordered.delivered) return
  const name = String(order.body['voice_id'])
  witness.calls.voices.add(name)
  remember(voices, name)
}

async function send(worker: Worker, order: SpeechOrder): Promise<Ordered> {
  const { dice, witness } = worker
  const ordered = witness.calls.order(order)
  const { way, path, body, family } = order
  // Some hang up before they hear the answer: theirs is settled all the same.
  const hangUp = dice.chance(0.06) ? { hangUpMs: dice.integer(1, 300) } : {}
  const onBroken = (answer: Answer) =>
    way === 'streamed' && noteAnswer(witness, order, ordered, answer, false)
  // Under a key of its own a call goes the same way, by way of its claim.
  const isKeyed = worker.focus()?.startsWith('claim.') === true || dice.chance(0.3)
  const headers = isKeyed ? { 'idempotency-key': order.marker } : {}
  const operation = family === 'speech' ? `speak ${way}` : 'clone'
  const sendIt = async (options: { readonly hangUpMs?: number } = {}): Promise<void> => {
    ordered.sent += 1
    const request = { body, headers, ...options, onBroken }
    const answer = await worker.call(operation, 'POST', path, request)
    if (answer !== undefined) noteAnswer(witness, order, ordered, answer, true)
  }
  await sendIt(hangUp)
  if (isKeyed) worker.repeats.keep(sendIt)
  return ordered
}

function noteAnswer(
  witness: Witness,
  { marker, way, family, isRaw }: SpeechOrder,
  ordered: Ordered,
  { status, headers, body, text }: Answer,
  isWhole: boolean,
): void {
  const callId = headers.get('x-call-id')
  if (callId !== null) ordered.callIds.add(callId)
  if (status !== 200) {
    const { status_code: code } = (body['base_resp'] ?? {}) as { readonly status_code?: unknown }
    ordered.refused = `${status} ${String(code)}`
    return
  }
  if (callId === null) witness.differ('id_withheld', marker, 'answered 200 without its id')
  if (isRaw) {
    ordered.delivered ||= isWhole
    const type = headers.get('content-type') ?? ''
    if (!type.startsWith('audio/')) witness.differ('bad_answer', marker, `answered ${type}`)
  } else if (way === 'streamed') ordered.delivered ||= LAST_FRAME.test(text)
  else {
    ordered.delivered = true
    const { audio } = (body['data'] ?? {}) as { readonly audio?: unknown }
    if (family === 'speech' && (typeof audio !== 'string' || audio === ''))
      witness.differ('bad_answer', marker, 'answered 200 without audio')
  }
}

/** Seconds of silence as a WAV. */
function sample(): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.alloc(44 + SAMPLE_SECONDS * BYTES_A_SECOND)
  bytes.write('RIFF', 0, 'latin1')
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(BYTES_A_SECOND, 28)
  return new Uint8Array(bytes)
}

async function upload(worker: Worker): Promise<void> {
  const { call, witness, fileIds, dice } = worker
  const marker = nextMarker(worker)
  const fault = dice.weighted([
    [8, ''],
    [1, ' [[sandbox drop-after-accept]]'],
    [1, ' [[sandbox malformed]]'],
    [1, ' [[sandbox http=503]]'],
  ])
  const form = new FormData()
  form.set('purpose', 'voice_clone')
  form.set('file', new Blob([sample()]), `me [[client=${marker}]]${fault}.wav`)
  witness.calls.uploads.add(marker)
  const answer = await call('upload sample', 'POST', UPLOAD, { body: form })
  if (answer?.status !== 200) return
  const { file_id: id } = (answer.body['file'] ?? {}) as { readonly file_id?: unknown }
  if (typeof id !== 'string') {
    witness.differ('id_withheld', marker, 'a sample was taken without its id')
    return
  }
  witness.calls.samples.add(id)
  remember(fileIds, id)
}

async function retrieve({ call, witness }: Worker, id: string): Promise<void> {
  const answer = await call('retrieve', 'GET', `${RETRIEVE}?file_id=${id}`)
  if (answer?.status === 404)
    witness.differ('file_lost', id, 'a sample that was taken is not found')
}

function remember(known: string[], one: string): void {
  known.push(one)
  if (known.length > MAX_KNOWN) known.shift()
}
