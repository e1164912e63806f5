import { assetStream, type AssetEvent } from '../../src/domain/asset/events.ts'
import { assetGroupStream, type AssetGroupEvent } from '../../src/domain/asset-group/events.ts'
import { verificationStream, type VerificationEvent } from '../../src/domain/verification/events.ts'
import { rowsOf } from '../engine/read-model.ts'
import { assets, groups, verifications } from './tables.ts'

/** A use does not change an asset: the creation that uses it is a task, which the timeline has. */
type AssetChange = Exclude<AssetEvent, { readonly type: 'AssetUsed' }>

export const assetRows = rowsOf<AssetChange>()({
  table: assets,
  stream: assetStream,
  of: ({ data }) => data.assetId,
  begins: 'AssetCreated',
  sets: {
    AssetCreated: ({ data, position }) => {
      return { ...data, state: 'created', updatedAt: data.createdAt, position }
    },
    AssetAccepted: ({ data: { nativeId, acceptedAt }, position }, { state }) => ({
      nativeId,
      // An asset that was withdrawn meanwhile stays so; its id upstream, which to delete, is now
      // known.
      state: state === 'created' ? 'processing' : state,
      updatedAt: acceptedAt,
      position,
    }),
    AssetRefused: ({ data: { code, message, refusedAt }, position }) => {
      const error = { errorCode: code, errorMessage: message }
      return { state: 'refused', ...error, updatedAt: refusedAt, position }
    },
    AssetActivated: ({ data, position }) => {
      const error = { errorCode: null, errorMessage: null }
      return { state: 'active', ...error, updatedAt: data.activatedAt, position }
    },
    AssetFailed: ({ data: { code, message, failedAt }, position }) => {
      const error = { errorCode: code, errorMessage: message }
      return { state: 'failed', ...error, updatedAt: failedAt, position }
    },
    AssetUpdated: ({ data: { name, updatedAt }, position }) => ({ name, updatedAt, position }),
    AssetWithdrawn: ({ data, position }) => {
      return { state: 'withdrawn', updatedAt: data.withdrawnAt, position }
    },
    AssetDeleted: ({ data, position }) => {
      return { state: 'deleted', updatedAt: data.deletedAt, position }
    },
  },
})

export const groupRows = rowsOf<AssetGroupEvent>()({
  table: groups,
  stream: assetGroupStream,
  of: ({ data }) => data.groupId,
  begins: 'AssetGroupCreated',
  sets: {
    AssetGroupCreated: ({ data, position }) => {
      return { ...data, state: 'created', updatedAt: data.createdAt, position }
    },
    AssetGroupAccepted: ({ data: { nativeId, acceptedAt }, position }) => {
      return { state: 'accepted', nativeId, updatedAt: acceptedAt, position }
    },
    AssetGroupRefused: ({ data, position }) => {
      return { state: 'refused', updatedAt: data.refusedAt, position }
    },
    AssetGroupUpdated: ({ data: { name, description, updatedAt }, position }) => {
      return { name, description, updatedAt, position }
    },
    AssetGroupWithdrawn: ({ data, position }) => {
      return { state: 'withdrawn', updatedAt: data.withdrawnAt, position }
    },
    AssetGroupDeleted: ({ data, position }) => {
      return { state: 'deleted', updatedAt: data.deletedAt, position }
    },
  },
})

export const verificationRows = rowsOf<VerificationEvent>()({
  table: verifications,
  stream: verificationStream,
  of: ({ data }) => data.verificationId,
  begins: 'VerificationStarted',
  sets: {
    VerificationStarted: ({ data, position }) => {
      return { ...data, state: 'started', updatedAt: data.startedAt, position }
    },
    VerificationConfirmed: ({ data: { nativeGroupId, confirmedAt }, position }) => {
      return { state: 'confirmed', nativeGroupId, updatedAt: confirmedAt, position }
    },
    VerificationExpired: ({ data, position }) => {
      return { state: 'expired', updatedAt: data.expiredAt, position }
    },
  },
})
