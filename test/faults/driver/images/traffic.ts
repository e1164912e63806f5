import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import type { Answer, Call } from '../caller.ts'
import type { Dice } from '../random.ts'
import type { Traffic } from '../traffic.ts'
import type { Witness } from '../witness.ts'
import { type ImageOrder, newImageOrder } from './orders.ts'
import { Repeats } from '../calls/order.ts'
import type { Ordered } from '../calls/witness.ts'

/** Callers of images of one tenant, until told to stop. */

const WORKERS = 1
const MAX_KNOWN = 30
const MAX_FILES = 6
const KEY_TRIES = 4
const SIDE = 64
const FILES = '/v1/files'
const IMAGES = '/v1/images/generations'
/** The frame after which a stream is whole. */
const LAST_FRAME = /^event: image_(?:generation|edit)\.completed/m
/** One that is black all over, or was not made, is told in its place. */
const PICTURE = /"(?:b64_json|url)":"./
const PUBLIC_TIMEOUT_MS = 10_000

interface Worker {
  readonly dice: Dice
  readonly call: Call
  readonly witness: Witness
  readonly name: string
  readonly focus: () => string | undefined
  readonly picture: Uint8Array
  /** Asynchronous orders of this worker, by id. */
  readonly known: string[]
  readonly fileIds: string[]
  /** What this worker sent under a key. */
  readonly repeats: Repeats
  made: number
}

export async function startImageTraffic(
  dice: Dice,
  options: {
    readonly caller: () => Call
    readonly witness: Witness
    readonly focus: () => string | undefined
  },
): Promise<Traffic> {
  const stopping = new AbortController()
  const picture = await sharp({
    create: { width: SIDE, height: SIDE, channels: 3, background: '#36c' },
  })
    .png()
    .toBuffer()
  const work = Array.from({ length: WORKERS }, async (_, index) => {
    const name = `i${index}`
    const worker: Worker = {
      ...options,
      dice: dice.fork(name),
      call: options.caller(),
      name,
      picture,
      known: [],
      fileIds: [],
      repeats: new Repeats(),
      made: 0,
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
  const { dice, known, fileIds, repeats } = worker
  const isFiles = worker.focus()?.startsWith('file.') === true
  return dice.weighted<() => Promise<void>>([
    [40, () => orderOne(worker)],
    [known.length > 0 ? 20 : 0, () => look(worker, dice.pick(known))],
    [isFiles ? 40 : 8, () => upload(worker)],
    [fileIds.length > 1 ? (isFiles ? 40 : 5) : 0, () => remove(worker)],
    [fileIds.length > 0 ? 5 : 0, () => readBack(worker, dice.pick(fileIds))],
    [repeats.some ? 15 : 0, () => repeats.sendOne(dice)],
  ])()
}

async function orderOne(worker: Worker): Promise<void> {
  const { dice, witness, name, picture, fileIds } = worker
  worker.made += 1
  const marker = `${name}-${worker.made}`
  const order = newImageOrder(dice, marker, { picture, fileIds }, worker.focus())
  const ordered = witness.calls.order(order)
  const { way, path, body } = order
  if (way === 'async') return orderLater(worker, order, ordered)
  // Some hang up before they hear the answer: theirs is settled all the same.
  const hangUp = dice.chance(0.06) ? { hangUpMs: dice.integer(1, 300) } : {}
  const noteBroken = (answer: Answer) => way === 'streamed' && noteAnswer(worker, ordered, answer)
  const isKeyed = worker.focus()?.startsWith('claim.') === true || dice.chance(0.4)
  const headers = isKeyed ? { 'idempotency-key': `key-${marker}` } : {}
  const sendIt = async (options: { readonly hangUpMs?: number } = {}): Promise<void> => {
    ordered.sent += 1
    const request = { body, headers, ...options, onBroken: noteBroken }
    const answer = await worker.call(way, 'POST', path, request)
    if (answer === undefined) return
    noteAnswer(worker, ordered, answer)
    const { data } = answer.body
    if (way === 'url' && answer.status === 200) await follow(worker, marker, data)
  }
  await sendIt(hangUp)
  if (isKeyed) worker.repeats.keep(sendIt)
}

function noteAnswer({ witness }: Worker, ordered: Ordered, answer: Answer): void {
  const { status, headers, body, text } = answer
  const { marker, way } = ordered.order
  const callId = headers.get('x-call-id')
  if (callId !== null) ordered.callIds.add(callId)
  if (status !== 200) {
    const { code } = (body['error'] ?? {}) as { readonly code?: unknown }
    ordered.refused = `${status} ${String(code)}`
    return
  }
  if (callId === null) witness.differ('id_withheld', marker, 'answered 200 without its id')
  if (way === 'streamed') ordered.delivered ||= LAST_FRAME.test(text) && PICTURE.test(text)
  else {
    ordered.delivered = true
    const { data } = body
    if (!Array.isArray(data) || data.length === 0)
      witness.differ('bad_answer', marker, 'answered 200 without images')
  }
}

/** Whoever is given a URL finds the picture there, while the gateway that serves it is up. */
async function follow({ witness }: Worker, subject: string, data: unknown): Promise<void> {
  const [first] = (Array.isArray(data) ? data : []) as readonly { readonly url?: string }[]
  if (first?.url === undefined) return
  try {
    const signal = AbortSignal.timeout(PUBLIC_TIMEOUT_MS)
    const response = await fetch(first.url, { signal })
    const bytes = await response.arrayBuffer()
    const type = response.headers.get('content-type') ?? ''
    if (response.status !== 200 || !type.startsWith('image/') || bytes.byteLength === 0)
      witness.differ('bad_url', subject, `answered ${response.status} of ${type}`)
  } catch {
    // It is down, or went down.
  }
}

/** After any doubt the careful ask again under their key; the others leave it at that. */
async function orderLater(worker: Worker, order: ImageOrder, ordered: Ordered): Promise<void> {
  const { dice } = worker
  const { marker, path, body, upload: file } = order
  const isCareful = dice.chance(0.6)
  const headers = isCareful ? { 'idempotency-key': `key-${marker}` } : {}
  const sent = file === undefined ? body : formOf(body, file)
  const sendIt = async (): Promise<boolean> => {
    ordered.sent += 1
    const answer = await worker.call('async', 'POST', path, { body: sent, headers })
    if (answer?.status === 200) learn(worker, ordered, answer)
    return answer?.status === 200
  }
  if (isCareful) worker.repeats.keep(sendIt)
  for (let tries = 0; tries < (isCareful ? KEY_TRIES : 1); tries += 1) {
    if (await sendIt()) return
    await sleep(dice.integer(20, 300))
  }
}

function formOf(body: Readonly<Record<string, unknown>>, file: Uint8Array): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(body)) form.set(name, String(value))
  form.set('image', new Blob([new Uint8Array(file)]), 'base.png')
  return form
}

function learn({ witness, known }: Worker, ordered: Ordered, { body, headers }: Answer): void {
  const { id } = body
  if (typeof id !== 'string' || headers.get('x-platform-id') !== id) {
    witness.differ('id_withheld', ordered.order.marker, 'an order was taken without its id')
    return
  }
  ordered.platformIds.add(id)
  if (known.includes(id)) return
  known.push(id)
  if (known.length > MAX_KNOWN) known.shift()
}

const ENDED: ReadonlySet<unknown> = new Set(['completed', 'failed'])

async function look(worker: Worker, id: string): Promise<void> {
  const { witness } = worker
  const before = witness.calls.shown.get(id)
  const answer = await worker.call('look', 'GET', `${IMAGES}/${id}`)
  if (answer?.status === 404) witness.differ('id_lost', id, 'an order that was taken is not found')
  if (answer?.status !== 200) return
  const status = String(answer.body['status'])
  if (ENDED.has(before) ? status !== before : before === 'in_progress' && status === 'pending')
    witness.differ('went_back', id, `shown as ${before}, then as ${status}`)
  witness.calls.shown.set(id, status)
  if (status === 'completed') await follow(worker, id, answer.body['data'])
}

async function upload({ call, witness, picture, fileIds }: Worker): Promise<void> {
  const form = new FormData()
  form.set('purpose', 'vision')
  form.set('file', new Blob([new Uint8Array(picture)]), 'boat.png')
  const answer = await call('upload', 'POST', FILES, { body: form })
  if (answer?.status !== 200) return
  const { id } = answer.body
  if (typeof id !== 'string') {
    witness.differ('id_withheld', 'a file', 'was taken without its id')
    return
  }
  witness.calls.files.set(id, { deletionTried: false, deleted: false })
  fileIds.push(id)
  if (fileIds.length > MAX_FILES) fileIds.shift()
}

async function remove({ call, witness, fileIds }: Worker): Promise<void> {
  const id = fileIds.shift()
  const file = id === undefined ? undefined : witness.calls.files.get(id)
  if (file === undefined) return
  file.deletionTried = true
  const answer = await call('delete file', 'DELETE', `${FILES}/${id}`)
  if (answer?.status === 200) file.deleted = true
}

async function readBack({ call, witness, picture }: Worker, id: string): Promise<void> {
  const answer = await call('read file', 'GET', `${FILES}/${id}/content`)
  if (answer === undefined || answer.status >= 500) return
  const bytes = Number(answer.headers.get('content-length'))
  if (answer.status !== 200 || bytes !== picture.length)
    witness.differ('file_lost', id, `answered ${answer.status} with ${bytes} bytes`)
}
