import { randomUUID } from 'node:crypto'
import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type * as streams from '@eventstore/db-client/generated/streams_pb.js'
import { status, type ClientDuplexStream } from '@grpc/grpc-js'
import { NoAnswerError, TIMER_SLACK_MS, type ClientInternals } from './client-internals.ts'
import { failureOf } from './failure.ts'
import { batchAnswer, batchRequest, type AppendAnswer, type AppendCommand } from './wire-append.ts'

type Call = ClientDuplexStream<streams.BatchAppendReq, streams.BatchAppendResp>

/** Appends share one call, told apart by an id: a fraction of the cost of a call for each. */
export interface BatchAppend {
  /** One try. Never rejects; a late answer to a try that was given up is ignored. */
  readonly send: (command: AppendCommand, tryMs: number) => Promise<AppendAnswer>
  /** Whether the server turned out not to know shared calls (before version 21.10). */
  readonly unsupported: () => boolean
}

/** One shared call and the tries that wait for its answers. */
interface Lane {
  readonly call: Call
  readonly waiting: Map<string, (answer: AppendAnswer) => void>
  answeredMs: number
  /** Set once the call is over. */
  failure?: AppendAnswer
}

/**
 * The library's own batch path keeps its promises in one global map and fails all of them when
 * any stream fails (ledger.md §3.5); here each lane owns its tries.
 */
export function createBatchAppend(client: ClientInternals): BatchAppend {
  let lane: Promise<Lane> | undefined
  let unsupported = false

  const open = async (): Promise<Lane> => {
    const call: Call = await client.GRPCStreamCreator(
      streamsGrpc.StreamsClient,
      'batchAppend',
      (stub) =>
        stub.batchAppend(...client.callArguments({ requiresLeader: true }, { deadline: Infinity })),
    )()
    return { call, waiting: new Map(), answeredMs: performance.now() }
  }
  const watch = (opened: Lane, opening: Promise<Lane>) => {
    const fail = (error: unknown) => {
      if (lane === opening) lane = undefined
      const failure = failureOf(error)
      opened.failure = failure
      if (error instanceof Error && 'code' in error && error.code === status.UNIMPLEMENTED)
        unsupported = true
      for (const answer of opened.waiting.values()) answer(failure)
      opened.waiting.clear()
    }
    opened.call.on('data', (response: streams.BatchAppendResp) => {
      opened.answeredMs = performance.now()
      const id = response.getCorrelationId()?.getString() ?? ''
      opened.waiting.get(id)?.(batchAnswer(response))
      opened.waiting.delete(id)
    })
    opened.call.on('error', fail)
    opened.call.on('end', () => fail(new NoAnswerError('the server ended the call')))
  }
  const current = (): Promise<Lane> => {
    if (lane !== undefined) return lane
    const opening: Promise<Lane> = open().then(
      (opened) => {
        watch(opened, opening)
        return opened
      },
      (error: unknown) => {
        if (lane === opening) lane = undefined
        throw error
      },
    )
    lane = opening
    return opening
  }
  return {
    send: (command, tryMs) => sendOn(current(), command, tryMs),
    unsupported: () => unsupported,
  }
}

function sendOn(
  opening: Promise<Lane>,
  command: AppendCommand,
  tryMs: number,
): Promise<AppendAnswer> {
  const id = randomUUID()
  return new Promise((resolve) => {
    let over = false
    const finish = (answer: AppendAnswer) => {
      over = true
      clearTimeout(timer)
      resolve(answer)
    }
    let giveUp = () => undefined as void
    const timer = setTimeout(() => {
      giveUp()
      finish(failureOf(new NoAnswerError(`no answer in ${tryMs} ms`)))
    }, tryMs + TIMER_SLACK_MS)
    opening.then(
      (lane) => {
        if (over) return
        if (lane.failure !== undefined) {
          finish(lane.failure)
          return
        }
        const sentMs = performance.now()
        giveUp = () => {
          lane.waiting.delete(id)
          // Silent since then: the next try had better not wait on this call.
          if (lane.answeredMs < sentMs) lane.call.cancel()
        }
        lane.waiting.set(id, finish)
        lane.call.write(batchRequest(command, id))
      },
      (error: unknown) => finish(failureOf(error)),
    )
  })
}
