/**
 * `Streams.BatchAppend`: many appends over one call, matched to their answers by correlation id.
 */

import type { ServerDuplexStream } from '@grpc/grpc-js'
import type shared from '@eventstore/db-client/generated/shared_pb.js'
import type streams from '@eventstore/db-client/generated/streams_pb.js'
import { monotonicClock, systemClock } from '../../../src/kernel/clock.ts'
import type { BatchRequest } from './batch-request.ts'
import { type BatchTarget, failureResponse, outcomeResponse } from './batch-responses.ts'
import { invalidArgument, stopping, toWireError, tooManyError, type WireError } from './errors.ts'
import { DEFAULT_APPEND_DEADLINE_MS, MAX_BATCH_IN_FLIGHT, MAX_BATCH_PARTIAL } from './limits.ts'
import type { ServerLog } from './log.ts'
import { checkStreamName, Proposal } from './proposals.ts'
import type { AppendHooks, ExpectedRevision } from './types.ts'
import { exactRevision, readStreamName, readUuid } from './wire.ts'

/** Answers are written as bytes. */
type Call = ServerDuplexStream<BatchRequest, Buffer>

interface Partial {
  readonly target: BatchTarget
  readonly proposal: Proposal
  /** Set once the append has been answered with an error; further parts of it are dropped. */
  refused: boolean
}

/** Serves one batch stream until the client ends it. */
export class BatchAppendCall {
  readonly #log: ServerLog
  readonly #hooks: AppendHooks
  readonly #call: Call
  readonly #admit: () => void
  readonly #partial = new Map<string, Partial>()
  #inFlight = 0
  #ended = false
  #blocked = false
  #stopping = false
  #failed = false

  /** `admit` throws for an append that this node does not take. */
  constructor(log: ServerLog, hooks: AppendHooks, call: Call, admit: () => void) {
    this.#log = log
    this.#hooks = hooks
    this.#call = call
    this.#admit = admit
    call.on('data', (request: BatchRequest) => this.#receive(request))
    call.on('end', () => {
      this.#ended = true
      this.#endIfDone()
    })
    call.on('error', () => undefined)
    call.on('drain', () => {
      this.#blocked = false
      this.#throttle()
    })
  }

  /** Accepts no more appends, answers the running ones, then ends the stream as unavailable. */
  stop(): void {
    this.#stopping = true
    this.#call.pause()
    this.#endIfDone()
  }

  /** Ends the stream immediately: running appends may be written, but are never answered. */
  fail(error: WireError): void {
    if (this.#failed) return
    this.#failed = true
    this.#call.emit('error', error)
  }

  #receive(request: BatchRequest): void {
    if (this.#stopping || this.#failed) return
    const { head } = request
    const correlationId = head.getCorrelationId()
    const key = readUuid(correlationId)
    if (correlationId === undefined || key === undefined) {
      this.#call.emit('error', invalidArgument('a batch append carries no correlation id'))
      return
    }
    try {
      this.#collect(key, correlationId, request)
    } catch (error) {
      const partial = this.#partial.get(key)
      if (partial !== undefined) partial.refused = true
      this.#send(failureResponse(correlationId, partial?.target, toWireError(error)))
      if (head.getIsFinal()) this.#partial.delete(key)
    }
  }

  #collect(key: string, correlationId: shared.UUID, { head, proposed }: BatchRequest): void {
    let partial = this.#partial.get(key)
    if (partial === undefined) {
      partial = {
        target: readTarget(correlationId, head),
        proposal: new Proposal(),
        refused: false,
      }
      if (!head.getIsFinal() && this.#partial.size >= MAX_BATCH_PARTIAL) {
        throw tooManyError('too many unfinished appends on one batch stream')
      }
      this.#partial.set(key, partial)
    }
    if (!partial.refused) {
      for (const message of proposed) partial.proposal.add(message)
    }
    if (!head.getIsFinal()) return
    this.#partial.delete(key)
    if (!partial.refused) void this.#submit(partial.target, partial.proposal)
  }

  async #submit(target: BatchTarget, proposal: Proposal): Promise<void> {
    this.#inFlight += 1
    this.#throttle()
    try {
      this.#admit()
      await this.#hooks.beforeAppend?.()
      const outcome = await this.#log.submit({
        kind: 'append',
        stream: target.stream,
        expected: target.expected,
        events: proposal.events,
        sizeBytes: proposal.sizeBytes,
        isAbandoned: () => this.#call.cancelled || monotonicClock.nowMs() > target.deadlineMs,
      })
      if (this.#hooks.loseAcknowledgement?.() !== true) this.#send(outcomeResponse(target, outcome))
    } catch (error) {
      this.#refuse(target, toWireError(error))
    } finally {
      this.#inFlight -= 1
      this.#throttle()
      this.#endIfDone()
    }
  }

  /** `NOT_LEADER` ends the call; every other error is an answer on it. */
  #refuse(target: BatchTarget, error: WireError): void {
    if (error.metadata.get('exception')[0] === 'not-leader') this.fail(error)
    else this.#send(failureResponse(target.correlationId, target, error))
  }

  #send(response: Buffer): void {
    if (this.#failed || this.#call.cancelled || this.#call.writableEnded) return
    if (!this.#call.write(response)) this.#blocked = true
  }

  /** Reads no further while the log or the client is behind. */
  #throttle(): void {
    const full = this.#stopping || this.#blocked || this.#inFlight >= MAX_BATCH_IN_FLIGHT
    if (full && !this.#call.isPaused()) this.#call.pause()
    else if (!full && this.#call.isPaused()) this.#call.resume()
  }

  #endIfDone(): void {
    if (this.#inFlight > 0 || this.#failed) return
    if (this.#stopping) this.#call.emit('error', stopping())
    else if (this.#ended) this.#call.end()
  }
}

function readTarget(correlationId: shared.UUID, request: streams.BatchAppendReq): BatchTarget {
  const options = request.getOptions()
  if (options === undefined) throw invalidArgument('a batch append starts with its options')
  const stream = checkStreamName(readStreamName(options.getStreamIdentifier()))
  const deadline = options.getDeadline()
  const leftMs =
    deadline === undefined
      ? DEFAULT_APPEND_DEADLINE_MS
      : deadline.getSeconds() * 1000 + deadline.getNanos() / 1_000_000 - systemClock.nowMs()
  const deadlineMs = monotonicClock.nowMs() + leftMs
  return { correlationId, stream, expected: readExpected(options), deadlineMs }
}

function readExpected(options: streams.BatchAppendReq.Options): ExpectedRevision {
  if (options.hasStreamPosition()) {
    return exactRevision(options.getStreamPosition())
  }
  if (options.hasNoStream()) return { kind: 'no_stream' }
  if (options.hasStreamExists()) return { kind: 'stream_exists' }
  if (options.hasAny()) return { kind: 'any' }
  throw invalidArgument('the append names no expected revision')
}
