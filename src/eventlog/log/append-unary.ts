import streamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type * as streams from '@eventstore/db-client/generated/streams_pb.js'
import {
  NeverSentError,
  NoAnswerError,
  TIMER_SLACK_MS,
  type ClientInternals,
} from './client-internals.ts'
import { monotonicClock } from '../../kernel/clock.ts'
import { failureOf } from './failure.ts'
import { unaryAnswer, unaryRequests, type AppendAnswer, type AppendCommand } from './wire-append.ts'

/** One attempt of an append in a separate call. Never rejects. */
export async function sendUnary(
  client: ClientInternals,
  command: AppendCommand,
  tryMs: number,
): Promise<AppendAnswer> {
  try {
    return unaryAnswer(await send(client, command, tryMs))
  } catch (error) {
    return failureOf(error)
  }
}

function send(
  client: ClientInternals,
  command: AppendCommand,
  tryMs: number,
): Promise<streams.AppendResp> {
  const expiry = new AbortController()
  const untilMs = monotonicClock.nowMs() + tryMs
  let sent = false
  const answered = client.execute(
    streamsGrpc.StreamsClient,
    'append',
    (stub) =>
      new Promise<streams.AppendResp>((resolve, reject) => {
        if (expiry.signal.aborted) {
          reject(new NeverSentError('no node was found in time'))
          return
        }
        sent = true
        // The search for the node may have taken long.
        const deadline = Math.max(1, untilMs - monotonicClock.nowMs())
        const [metadata, options] = client.callArguments({ requiresLeader: true, deadline })
        const call = stub.append(metadata, options, (error, response) => {
          if (error) reject(error)
          else resolve(response)
        })
        call.on('error', reject)
        expiry.signal.addEventListener('abort', () => call.cancel())
        for (const request of unaryRequests(command)) call.write(request)
        call.end()
      }),
  )
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(
        sent
          ? new NoAnswerError(`no answer in ${tryMs} ms`)
          : new NeverSentError(`no node was found in ${tryMs} ms`),
      )
      expiry.abort()
    }, tryMs + TIMER_SLACK_MS)
    void answered.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
