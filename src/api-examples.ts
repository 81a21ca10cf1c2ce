import { ACCOUNT_EXAMPLES, ANTHROPIC_MODEL } from './examples/account-examples.ts';
import { ACCOUNT_STREAM, CONSOLE_EXAMPLES } from './examples/console-examples.ts';
import {
  ACCOUNT,
  BROWSER,
  DELIVERY,
  GENERATION,
  HASH,
  INVITATION,
  INVOICE,
  MEMBER,
  REQUEST,
  SESSION,
  TASK,
} from './examples/example-ids.ts';
import { FLEET_EXAMPLES } from './examples/fleet-examples.ts';
import {
  CHAT_STREAM,
  INVOCATION_EXAMPLES,
  MESSAGE_STREAM,
  RESPONSE_STREAM,
} from './examples/invocation-examples.ts';
import { OPERATOR_EXAMPLES } from './examples/operator-examples.ts';
import { TASK_EXAMPLES } from './examples/task-examples.ts';
import { WORKER_ANSWERS, WORKER_EXAMPLES } from './examples/worker-examples.ts';
import type { ApiExamples } from './http/openapi/openapi-examples.ts';

const CHARGE = 'txn_U01KAJ3V9M2Q4R6S8T0V2W4X6Y8';
const PURCHASE = 'txn_P01KAJ40A1B2C3D4E5F6G7H8J9K';
const EVENTS = 'text/event-stream';

const ENDED_SESSION = { 'application/json': { data: { ended: 1 }, request_id: REQUEST } };

const REMOVED = { 'application/json': { data: { removed: true }, request_id: REQUEST } };

/** Example requests and responses for the OpenAPI document. A test checks each against its schema. */
export const API_EXAMPLES: ApiExamples = {
  schemas: {
    ...ACCOUNT_EXAMPLES,
    ...INVOCATION_EXAMPLES,
    ...TASK_EXAMPLES,
    ...OPERATOR_EXAMPLES,
    ...FLEET_EXAMPLES,
    ...CONSOLE_EXAMPLES,
    ...WORKER_EXAMPLES,
  },
  members: {
    request_id: REQUEST,
    task_id: TASK,
    transaction_id: CHARGE,
    key: 'sk-tg-v1-4FqT0m8sW2xY6bC1dE3fG5hJ7kL9nP0qR2sT4uV6wX8yZ0aB',
  },
  parameters: {
    month: '2026-10',
    at: '2026-11-01T00:00:00Z',
    start_time: '2026-10-01T00:00:00Z',
    end_time: '2026-11-01T00:00:00Z',
    hash: HASH,
    session_id: SESSION,
    invoice_id: INVOICE,
    transaction_id: CHARGE,
    task_id: TASK,
    model: 'tollgate/small',
    name: 'generate-local',
    host: 'gpu-3',
    token_name: 'rented',
    worker: 'host-1.4711',
    attempt: 1,
    'getOutput.index': 0,
    'uploadOutput.index': 0,
    offset: 4_194_304,
    bytes: 9_000_000,
    sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    id: ACCOUNT,
    q: GENERATION,
    'getMedia.key': '01KAJ3X1C3E5G7J9M1P3R5T7V9/0-original.png',
    'submitImageOfModel.model': 'image-turbo',
    'getGeneration.id': GENERATION,
    'endSession.id': BROWSER,
    'endOperatorSession.id': BROWSER,
    'changeMember.id': MEMBER,
    'removeMember.id': MEMBER,
    'withdrawInvitation.id': INVITATION,
    'getTask.id': TASK,
    'getVideo.id': TASK,
    'getVideoContent.id': TASK,
    'deleteVideo.id': TASK,
    'deleteTask.id': TASK,
    'cancelTask.id': TASK,
    'getTaskContent.id': TASK,
    'redeliverWebhook.id': DELIVERY,
    'getOperatorTask.id': TASK,
    'getChargeRecord.id': GENERATION,
    'retryTask.id': TASK,
    'redeliverOperatorDelivery.id': DELIVERY,
  },
  bodies: {
    submitVideo: {
      model_name: 'video-fast',
      width: 1280,
      height: 720,
      seed: -1,
      steps: 12,
      prompt: 'a toll gate at dawn, slow pan',
    },
    submitImage: { prompt: 'a toll gate at dawn', size: '1024*1024', seed: 7 },
    submitImageOfModel: { prompt: 'a toll gate at dawn', size: '2048*1024', steps: 28 },
    payTestCheckout: 'card=accepted',
    uploadOutput: 'bytes of the file',
    receiveStripeEvent: '{"id":"evt_1","object":"event","type":"checkout.session.completed"}',
  },
  answers: {
    ...WORKER_ANSWERS,
    createChatCompletion: { [EVENTS]: CHAT_STREAM },
    createMessage: { [EVENTS]: MESSAGE_STREAM },
    createResponse: { [EVENTS]: RESPONSE_STREAM },
    followAccount: { [EVENTS]: ACCOUNT_STREAM },
    listModels: {
      'application/json': {
        object: 'list',
        data: [ACCOUNT_EXAMPLES.Model],
        total_count: 1,
        links: { next: null },
        request_id: REQUEST,
      },
    },
    getModel: {
      'application/json': {
        id: 'tollgate/small',
        object: 'model',
        created: 0,
        owned_by: 'tollgate',
        data: ACCOUNT_EXAMPLES.Model,
        request_id: REQUEST,
      },
    },
    listVendorModels: {
      'application/json': {
        data: [ANTHROPIC_MODEL],
        has_more: false,
        first_id: 'tollgate/small',
        last_id: 'tollgate/small',
      },
    },
    getVendorModel: { 'application/json': ANTHROPIC_MODEL },
    getNovitaUser: {
      'application/json': { allow_features: [], credit_balance: 1_065_976, free_trial: {} },
    },
    getInvoice: {
      'application/json': {
        data: ACCOUNT_EXAMPLES.Invoice,
        balance_transactions: [PURCHASE, CHARGE],
        request_id: REQUEST,
      },
    },
    cancelTask: { 'application/json': { data: { id: TASK, status: 'canceled' }, request_id: REQUEST } },
    deleteTask: { 'application/json': { data: { id: TASK, deleted: true }, request_id: REQUEST } },
    redeliverWebhook: {
      'application/json': { data: { id: DELIVERY, status: 'pending' }, request_id: REQUEST },
    },
    retryTask: {
      'application/json': {
        data: { id: GENERATION, retry_of: TASK, created: true },
        request_id: REQUEST,
      },
    },
    verifyLedger: {
      'application/json': { data: FLEET_EXAMPLES.LedgerProof, request_id: REQUEST },
    },
    getHealth: { 'application/json': { status: 'ok', version: '1.4.0' } },
    removeMember: REMOVED,
    withdrawInvitation: REMOVED,
    invite: {
      'application/json': {
        data: CONSOLE_EXAMPLES.Invitation,
        url: 'https://gateway.example.com/console/sign-in?invitation=q1Zc0m5v8x2B4n6M7l9K3j5H1g2F4d6S8a0P1o3I5u7',
        request_id: REQUEST,
      },
    },
    getSession: { 'application/json': { data: CONSOLE_EXAMPLES.Session, request_id: REQUEST } },
    endCurrentSession: ENDED_SESSION,
    endSession: ENDED_SESSION,
    endOperatorSession: ENDED_SESSION,
    endSessions: ENDED_SESSION,
    getReadiness: {
      'application/json': {
        status: 'ready',
        checks: { database: true },
        optional: { redis: true, storage: true },
      },
    },
    getOpenApi: { 'application/json': { openapi: '3.1.0' } },
    getMetrics: { 'text/plain': 'tollgate_http_requests_in_flight 3\n' },
  },
};
