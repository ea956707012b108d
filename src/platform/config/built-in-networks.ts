import type { Address } from 'viem';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';

/** Built-in facts about chains. Each is checked on the connected chain before it is used. */
interface BuiltInNetwork {
  readonly chainId: number;
  /**
   * Public endpoints of the chain, only for trials: they limit requests, and those of chain 56 have no `eth_getLogs`.
   */
  readonly publicRpcUrls: readonly string[];
  readonly tokens: readonly BuiltInToken[];
  /** Symbol of the native coin. */
  readonly coin: string;
  readonly explorerUrl: string;
  /**
   * The minimum tip that validators accept or nodes suggest, in wei per unit of gas. RPC providers may require more.
   */
  readonly leastTipWei: bigint;
}

export interface BuiltInToken {
  readonly symbol: string;
  readonly address: Address;
  readonly decimals: number;
  readonly methods: readonly TransferMethod[];
  /** EIP-712 domain, if the token supports EIP-3009. */
  readonly eip712?: { readonly name: string; readonly version: string };
  /**
   * Whether its code only moves tokens, so that it may share a transaction with other payments. A token that burns
   * gas would revert the whole batch.
   */
  readonly isBatchSafe: boolean;
  /** A reported fact that was not verified on chain. */
  readonly doubt?: string;
}

export const BUILT_IN_NETWORKS: readonly BuiltInNetwork[] = [
  {
    chainId: 56,
    coin: 'BNB',
    explorerUrl: 'https://bscscan.com',
    leastTipWei: 50_000_000n,
    publicRpcUrls: [
      'https://bsc-dataseed.bnbchain.org',
      'https://bsc-dataseed.nariox.org',
      'https://bsc-dataseed.defibit.io',
    ],
    tokens: [
      {
        symbol: 'U',
        address: '0xce24439f2d9c6a2289f741120fe202248b666666',
        decimals: 18,
        methods: ['eip3009', 'permit2'],
        eip712: { name: 'United Stables', version: '1' },
        isBatchSafe: true,
      },
      {
        symbol: 'USD1',
        address: '0x8d0d000ee44948fc98c9b98a4fa4921476f08b0d',
        decimals: 18,
        methods: ['eip3009', 'permit2'],
        eip712: { name: 'World Liberty Financial USD', version: '1' },
        isBatchSafe: true,
        doubt:
          'It has no version(); the domain version 1 is reported. Some sources say that it has no EIP-3009.',
      },
      {
        symbol: 'FDUSD',
        address: '0xc5f0f7b66764f6ec8c8dff7ba683102295e16409',
        decimals: 18,
        methods: ['eip3009', 'permit2'],
        eip712: { name: 'First Digital USD', version: '1' },
        isBatchSafe: true,
        doubt: 'EIP-3009 is reported, not established.',
      },
      {
        symbol: 'XUSD',
        address: '0xf3a3e4d9c163251124229da6dc9c98d889647804',
        decimals: 18,
        methods: ['eip3009'],
        eip712: { name: 'Wrapped USDC', version: '2' },
        isBatchSafe: false,
        doubt: 'Sources disagree on its decimals (18 or 6).',
      },
      {
        symbol: 'AUSD',
        address: '0x00000000efe302beaa2b3e6e1b18d08d69a9012a',
        decimals: 6,
        methods: ['eip3009', 'permit2'],
        eip712: { name: 'Agora Dollar', version: '1' },
        isBatchSafe: false,
        doubt: 'EIP-3009 is reported, not established.',
      },
      {
        symbol: 'USDT',
        address: '0x55d398326f99059ff775485246999027b3197955',
        decimals: 18,
        methods: ['permit2'],
        isBatchSafe: true,
      },
      {
        symbol: 'USDC',
        address: '0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d',
        decimals: 18,
        methods: ['permit2'],
        isBatchSafe: true,
      },
    ],
  },
  {
    chainId: 97,
    coin: 'tBNB',
    explorerUrl: 'https://testnet.bscscan.com',
    leastTipWei: 50_000_000n,
    publicRpcUrls: [
      'https://bsc-testnet-dataseed.bnbchain.org',
      'https://bsc-testnet.bnbchain.org',
      'https://bsc-prebsc-dataseed.bnbchain.org',
    ],
    tokens: [
      {
        symbol: 'U',
        address: '0xc70b8741b8b07a6d61e54fd4b20f22fa648e5565',
        decimals: 18,
        methods: ['eip3009'],
        eip712: { name: 'United Stables', version: '1' },
        isBatchSafe: true,
        doubt: 'One public source says that no token of chain 97 has EIP-3009.',
      },
      {
        symbol: 'USDC',
        address: '0xec1c60d64a06896df296438c12edd14e974fde47',
        decimals: 6,
        methods: ['permit2'],
        isBatchSafe: true,
      },
      {
        symbol: 'USDT',
        address: '0x337610d27c682e347c9cd60bd4b3b107c9d34ddd',
        decimals: 18,
        methods: ['permit2'],
        isBatchSafe: true,
      },
    ],
  },
  {
    chainId: 8453,
    coin: 'ETH',
    explorerUrl: 'https://basescan.org',
    leastTipWei: 1_000_000n,
    publicRpcUrls: ['https://mainnet.base.org'],
    tokens: [
      {
        symbol: 'USDC',
        address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
        decimals: 6,
        methods: ['eip3009', 'permit2'],
        eip712: { name: 'USD Coin', version: '2' },
        isBatchSafe: true,
      },
    ],
  },
  {
    chainId: 84_532,
    coin: 'ETH',
    explorerUrl: 'https://sepolia.basescan.org',
    leastTipWei: 1_000_000n,
    publicRpcUrls: ['https://sepolia.base.org'],
    tokens: [
      {
        symbol: 'USDC',
        address: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
        decimals: 6,
        methods: ['eip3009', 'permit2'],
        eip712: { name: 'USDC', version: '2' },
        isBatchSafe: true,
      },
    ],
  },
];
