import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { status, type ClientDuplexStream } from '@grpc/grpc-js'
import { monotonicClock } from '../../kernel/clock.ts'
import {
  NeverSentError,
  NoAnswerError,
  SILENCE_MS,
  TIMER_SLACK_MS,
  type CallChannel,
  type ClientInternals,
} from './client-internals.ts'
import { newUuid } from '../../kernel/ids.ts'
import type { LeaderCheck } from './discovery.ts'
import { failureOf, failureOfUnsentTry, failureOfSentTry, isWrongNode } from './failure.ts'
import {
  batchRequest,
  readBatchAnswer,
  type AppendAnswer,
  type AppendCommand,
  type BatchAnswer,
} from './wire-append.ts'

type Call = ClientDuplexStream<Buffer, BatchAnswer>

const BATCH_APPEND_PATH = '/event_store.client.streams.Streams/BatchAppend'

/**
 * Appends share one gRPC call and are matched by an id. This costs a fraction of one call per
 * append.
 */
interface BatchAppend {
  /** One attempt. Never rejects; a late answer to an abandoned attempt is ignored. */
  readonly send: (command: AppendCommand, tryMs: number) => Promise<AppendAnswer>
  /** Whether the server does not know shared calls (before version 21.10). */
  readonly unsupported: () => boolean
}

/** One shared call and the attempts that wait for its answers. */
interface Lane {
  readonly call: Call
  readonly channel: CallChannel | undefined
  readonly waiting: Map<string, (answer: AppendAnswer) => void>
  answeredMs: number
  /** Whether the server accepted any append of this call. */
  answered: boolean
  /** Set once the call is over: the result of a try that comes too late. */
  failure?: AppendAnswer
}

/**
 * The client library's batch path keeps its promises in one global map and rejects all of them when
 * any stream fails. Here each shared call has its own tries.
 */
export function createBatchAppend(client: ClientInternals, leaderMoved: LeaderCheck): BatchAppend {
  let lane: Promise<Lane> | undefined
  let unsupported = false

  const watch = (opened: Lane, opening: Promise<Lane>) => {
    const fail = (error: unknown) => {
      if (lane === opening) lane = undefined
      opened.failure = failureOfUnsentTry(error)
      if (error instanceof Error && 'code' in error && error.code === status.UNIMPLEMENTED)
        unsupported = true
      const written = failureOfSentTry(error, opened.answered)
      for (const answer of opened.waiting.values()) answer(written)
      opened.waiting.clear()
    }
    opened.call.on('data', ({ id, answer }: BatchAnswer) => {
      opened.answeredMs = monotonicClock.nowMs()
      opened.answered = true
      opened.waiting.get(id)?.(answer)
      opened.waiting.delete(id)
      if (answer.kind === 'transport' && isWrongNode(answer.reason)) {
        // The call would stay with this node: the next attempt opens another one, to the next
        // leader.
        if (lane === opening) lane = undefined
        opened.call.cancel()
      }
    })
    opened.call.on('error', fail)
    opened.call.on('end', () => fail(new NoAnswerError('the server ended the call')))
  }
  const current = (): Promise<Lane> => {
    if (lane !== undefined) return lane
    const opening: Promise<Lane> = openLane(client).then(
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
    send: (command, tryMs) => sendOn(current(), command, tryMs, leaderMoved),
    unsupported: () => unsupported,
  }
}

async function openLane(client: ClientInternals): Promise<Lane> {
  let channel: CallChannel | undefined
  const call: Call = await client.GRPCStreamCreator(
    streamsGrpc.StreamsClient,
    'batchAppend',
    (stub) => {
      channel = stub.getChannel()
      return stub.makeBidiStreamRequest(
        BATCH_APPEND_PATH,
        (request: Buffer) => request,
        readBatchAnswer,
        ...client.callArguments({ requiresLeader: true }, { deadline: Infinity }),
      )
    },
  )()
  return {
    call,
    channel,
    waiting: new Map(),
    answeredMs: monotonicClock.nowMs(),
    answered: false,
  }
}

function sendOn(
  opening: Promise<Lane>,
  command: AppendCommand,
  tryMs: number,
  leaderMoved: LeaderCheck,
): Promise<AppendAnswer> {
  const id = newUuid()
  return new Promise((resolve) => {
    let [over, written] = [false, false]
    const finish = (answer: AppendAnswer) => {
      over = true
      clearTimeout(timer)
      resolve(answer)
    }
    let giveUp = () => undefined as void
    let fallSilent = () => undefined as void
    const wholeMs = tryMs + TIMER_SLACK_MS
    const silenceMs = Math.min(SILENCE_MS, wholeMs)
    // One timer for all attempts: nearly every one is answered long before it fires.
    let timer = setTimeout(() => {
      fallSilent()
      timer = setTimeout(endUnanswered, wholeMs - silenceMs)
    }, silenceMs)
    const endUnanswered = () => {
      giveUp()
      const silence = written
        ? new NoAnswerError(`no answer in ${tryMs} ms`)
        : new NeverSentError(`no node was found in ${tryMs} ms`)
      finish(failureOf(silence))
    }
    opening.then(
      (lane) => {
        if (over) return
        if (lane.failure !== undefined) {
          finish(lane.failure)
          return
        }
        const sentMs = monotonicClock.nowMs()
        const isSilent = () => lane.answeredMs < sentMs
        giveUp = () => {
          lane.waiting.delete(id)
          // The next try opens another call.
          if (isSilent()) lane.call.cancel()
        }
        fallSilent = () => {
          if (lane.channel !== undefined && isSilent())
            void leaderMoved(lane.channel).then((moved) => {
              if (moved) lane.call.cancel()
            })
        }
        lane.waiting.set(id, finish)
        written = true
        lane.call.write(batchRequest(command, id))
      },
      (error: unknown) => finish(failureOfUnsentTry(error)),
    )
  })
}
