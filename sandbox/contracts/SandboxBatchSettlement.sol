// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IDepositCollector {
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data)
        external;
}

interface IEscrowToken {
    function balanceOf(address owner) external view returns (uint256);
}

/// @title The sandbox's stand-in for the x402 batch-settlement escrow, with its interface and its rules.
/// @notice A payer locks money for one receiver in a channel and signs vouchers for a growing total. The
/// receiver claims totals, and takes what it has claimed in one transfer for all its channels. What is not
/// claimed goes back to the payer, by a refund of the receiver or by a withdrawal after a delay.
/// @dev The domain is made at run time, and the guard is transient: the code works at any address.
contract SandboxBatchSettlement {
    struct ChannelConfig {
        address payer;
        address payerAuthorizer;
        address receiver;
        address receiverAuthorizer;
        address token;
        uint40 withdrawDelay;
        bytes32 salt;
    }

    struct Channel {
        uint128 balance;
        uint128 totalClaimed;
    }

    struct PendingWithdrawal {
        uint128 amount;
        uint40 initiatedAt;
    }

    struct Receiver {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    struct VoucherClaim {
        Voucher voucher;
        bytes signature;
        uint128 totalClaimed;
    }

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event ChannelClosed(bytes32 indexed channelId, ChannelConfig config);
    event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);
    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount);

    error InvalidChannel();
    error ZeroDeposit();
    error DepositOverflow();
    error InvalidSignature();
    error NotReceiverAuthorizer();
    error NotAuthorizedToClaim();
    error NotAuthorizedToRefund();
    error ClaimExceedsCeiling();
    error ClaimExceedsBalance();
    error WithdrawDelayOutOfRange();
    error EmptyBatch();
    error DepositCollectionFailed();
    error InvalidCollector();
    error InvalidRefundNonce();
    error ZeroRefund();
    error ECDSAInvalidSignature();
    error ECDSAInvalidSignatureLength(uint256 length);
    error ECDSAInvalidSignatureS(bytes32 s);
    error ReentrancyGuardReentrantCall();
    // Names of our own: no facilitator sends withdrawals.
    error NotAuthorizedToWithdraw();
    error WithdrawalExceedsFreeBalance();
    error ZeroWithdrawal();
    error WithdrawalPending();
    error NoWithdrawalPending();
    error WithdrawalTooEarly();

    bytes32 public constant CHANNEL_CONFIG_TYPEHASH = keccak256(
        "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
    );
    bytes32 public constant VOUCHER_TYPEHASH = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
    bytes32 public constant REFUND_TYPEHASH = keccak256("Refund(bytes32 channelId,uint256 nonce,uint128 amount)");
    bytes32 public constant CLAIM_ENTRY_TYPEHASH =
        keccak256("ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)");
    bytes32 public constant CLAIM_BATCH_TYPEHASH = keccak256(
        "ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
    );
    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    uint256 private constant HALF_ORDER =
        0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    uint40 private constant LEAST_DELAY = 900;
    uint40 private constant MOST_DELAY = 2_592_000;

    mapping(bytes32 => Channel) public channels;
    mapping(bytes32 => PendingWithdrawal) public pendingWithdrawals;
    mapping(bytes32 => uint256) public refundNonce;
    mapping(address => mapping(address => Receiver)) public receivers;

    bool private transient entered;

    modifier once() {
        if (entered) revert ReentrancyGuardReentrantCall();
        entered = true;
        _;
        entered = false;
    }

    /// @notice Takes money for a channel by a collector. Anybody may present what the payer has signed.
    function deposit(ChannelConfig calldata config, uint128 amount, address collector, bytes calldata collectorData)
        external
        once
    {
        if (
            config.payer == address(0) || config.receiver == address(0) || config.receiverAuthorizer == address(0)
                || config.token == address(0)
        ) revert InvalidChannel();
        if (config.withdrawDelay < LEAST_DELAY || config.withdrawDelay > MOST_DELAY) revert WithdrawDelayOutOfRange();
        if (amount == 0) revert ZeroDeposit();
        if (collector == address(0)) revert InvalidCollector();
        bytes32 channelId = getChannelId(config);
        Channel storage channel = channels[channelId];
        if (amount > type(uint128).max - channel.balance) revert DepositOverflow();
        bool isNew = channel.balance == 0 && channel.totalClaimed == 0;
        _collect(config, amount, collector, channelId, collectorData);
        channel.balance += amount;
        if (isNew) emit ChannelCreated(channelId, config);
        emit Deposited(channelId, msg.sender, amount, channel.balance);
    }

    /// @notice Claims totals of channels of the sender.
    function claim(VoucherClaim[] calldata voucherClaims) external once {
        if (voucherClaims.length == 0) revert EmptyBatch();
        for (uint256 index = 0; index < voucherClaims.length; index++) {
            ChannelConfig calldata config = voucherClaims[index].voucher.channel;
            if (!_isReceiverSide(config)) revert NotAuthorizedToClaim();
            _claim(voucherClaims[index]);
        }
    }

    /// @notice Claims totals by the signature of the one that may claim for all of them.
    function claimWithSignature(VoucherClaim[] calldata voucherClaims, bytes calldata authorizerSignature)
        external
        once
    {
        if (voucherClaims.length == 0) revert EmptyBatch();
        address authorizer = voucherClaims[0].voucher.channel.receiverAuthorizer;
        for (uint256 index = 1; index < voucherClaims.length; index++) {
            if (voucherClaims[index].voucher.channel.receiverAuthorizer != authorizer) revert NotReceiverAuthorizer();
        }
        if (!_isSigned(authorizer, getClaimBatchDigest(voucherClaims), authorizerSignature)) revert InvalidSignature();
        for (uint256 index = 0; index < voucherClaims.length; index++) {
            _claim(voucherClaims[index]);
        }
    }

    /// @notice Pays a receiver what it has claimed. Where nothing is due it does nothing, and says nothing.
    function settle(address receiver, address token) external once {
        Receiver storage sums = receivers[receiver][token];
        uint128 due = sums.totalClaimed - sums.totalSettled;
        if (due == 0) return;
        sums.totalSettled = sums.totalClaimed;
        _pay(token, receiver, due);
        emit Settled(receiver, token, msg.sender, due);
    }

    function refund(ChannelConfig calldata config, uint128 amount) external once {
        if (!_isReceiverSide(config)) revert NotAuthorizedToRefund();
        _refund(getChannelId(config), config, amount);
    }

    function refundWithSignature(
        ChannelConfig calldata config,
        uint128 amount,
        uint256 nonce,
        bytes calldata receiverAuthorizerSignature
    ) external once {
        bytes32 channelId = getChannelId(config);
        if (nonce != refundNonce[channelId]) revert InvalidRefundNonce();
        bytes32 digest = getRefundDigest(channelId, nonce, amount);
        if (!_isSigned(config.receiverAuthorizer, digest, receiverAuthorizerSignature)) revert InvalidSignature();
        refundNonce[channelId] = nonce + 1;
        _refund(channelId, config, amount);
    }

    /// @notice Begins a withdrawal by the payer; what is claimed before its end is not withdrawn.
    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external once {
        if (!_isPayerSide(config)) revert NotAuthorizedToWithdraw();
        bytes32 channelId = getChannelId(config);
        if (amount == 0) revert ZeroWithdrawal();
        if (amount > _free(channelId)) revert WithdrawalExceedsFreeBalance();
        if (pendingWithdrawals[channelId].initiatedAt != 0) revert WithdrawalPending();
        uint40 initiatedAt = uint40(block.timestamp);
        pendingWithdrawals[channelId] = PendingWithdrawal(amount, initiatedAt);
        emit WithdrawInitiated(channelId, amount, initiatedAt + config.withdrawDelay);
    }

    function finalizeWithdraw(ChannelConfig calldata config) external once {
        if (!_isPayerSide(config)) revert NotAuthorizedToWithdraw();
        bytes32 channelId = getChannelId(config);
        PendingWithdrawal memory pending = pendingWithdrawals[channelId];
        if (pending.initiatedAt == 0) revert NoWithdrawalPending();
        if (block.timestamp < uint256(pending.initiatedAt) + config.withdrawDelay) revert WithdrawalTooEarly();
        delete pendingWithdrawals[channelId];
        uint128 paid = _least(pending.amount, _free(channelId));
        _giveBack(channelId, config, paid);
        emit WithdrawFinalized(channelId, msg.sender, paid);
    }

    /// @notice Several calls in one transaction, all or nothing.
    function multicall(bytes[] calldata data) external returns (bytes[] memory results) {
        results = new bytes[](data.length);
        for (uint256 index = 0; index < data.length; index++) {
            (bool ok, bytes memory answer) = address(this).delegatecall(data[index]);
            if (!ok) {
                assembly {
                    revert(add(answer, 32), mload(answer))
                }
            }
            results[index] = answer;
        }
    }

    /// @notice The EIP-712 digest of a config, with the domain: other on each chain.
    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(CHANNEL_CONFIG_TYPEHASH, config)));
    }

    function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(VOUCHER_TYPEHASH, channelId, maxClaimableAmount)));
    }

    function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(REFUND_TYPEHASH, channelId, nonce, amount)));
    }

    /// @notice The signatures of the vouchers are not part of it.
    function getClaimBatchDigest(VoucherClaim[] calldata voucherClaims) public view returns (bytes32) {
        bytes32[] memory entries = new bytes32[](voucherClaims.length);
        for (uint256 index = 0; index < voucherClaims.length; index++) {
            VoucherClaim calldata row = voucherClaims[index];
            bytes32 channelId = getChannelId(row.voucher.channel);
            entries[index] = keccak256(
                abi.encode(CLAIM_ENTRY_TYPEHASH, channelId, row.voucher.maxClaimableAmount, row.totalClaimed)
            );
        }
        return _digest(keccak256(abi.encode(CLAIM_BATCH_TYPEHASH, keccak256(abi.encodePacked(entries)))));
    }

    /// @dev The money has to arrive whole: tokens that keep a fee are refused.
    function _collect(
        ChannelConfig calldata config,
        uint128 amount,
        address collector,
        bytes32 channelId,
        bytes calldata data
    ) private {
        uint256 before = IEscrowToken(config.token).balanceOf(address(this));
        IDepositCollector(collector).collect(config.payer, config.token, amount, channelId, data);
        if (IEscrowToken(config.token).balanceOf(address(this)) != before + amount) revert DepositCollectionFailed();
    }

    /// @dev A total that is claimed already is skipped, and its voucher not looked at.
    function _claim(VoucherClaim calldata row) private {
        ChannelConfig calldata config = row.voucher.channel;
        bytes32 channelId = getChannelId(config);
        Channel storage channel = channels[channelId];
        uint128 total = row.totalClaimed;
        if (total <= channel.totalClaimed) return;
        if (total > row.voucher.maxClaimableAmount) revert ClaimExceedsCeiling();
        if (total > channel.balance) revert ClaimExceedsBalance();
        bytes32 digest = getVoucherDigest(channelId, row.voucher.maxClaimableAmount);
        bool isSigned = config.payerAuthorizer == address(0)
            ? _isSigned(config.payer, digest, row.signature)
            : _recover(digest, row.signature) == config.payerAuthorizer;
        if (!isSigned) revert InvalidSignature();
        uint128 claimed = total - channel.totalClaimed;
        channel.totalClaimed = total;
        receivers[config.receiver][config.token].totalClaimed += claimed;
        emit Claimed(channelId, msg.sender, claimed, total);
    }

    /// @dev Where nothing is free it pays nothing and emits nothing; the nonce is used all the same.
    function _refund(bytes32 channelId, ChannelConfig calldata config, uint128 amount) private {
        if (amount == 0) revert ZeroRefund();
        uint128 paid = _least(amount, _free(channelId));
        if (paid == 0) return;
        emit Refunded(channelId, msg.sender, paid);
        uint128 rest = _free(channelId) - paid;
        PendingWithdrawal storage pending = pendingWithdrawals[channelId];
        if (rest == 0) delete pendingWithdrawals[channelId];
        else if (pending.amount > rest) pending.amount = rest;
        _giveBack(channelId, config, paid);
    }

    function _giveBack(bytes32 channelId, ChannelConfig calldata config, uint128 amount) private {
        if (amount == 0) return;
        Channel storage channel = channels[channelId];
        channel.balance -= amount;
        if (channel.balance == 0 && channel.totalClaimed == 0) emit ChannelClosed(channelId, config);
        _pay(config.token, config.payer, amount);
    }

    /// @dev Tokens that answer nothing are paid with too.
    function _pay(address token, address to, uint256 amount) private {
        (bool ok, bytes memory answer) =
            token.call(abi.encodeWithSignature("transfer(address,uint256)", to, amount));
        require(ok && (answer.length == 0 ? token.code.length > 0 : abi.decode(answer, (bool))), "transfer failed");
    }

    function _free(bytes32 channelId) private view returns (uint128) {
        Channel storage channel = channels[channelId];
        return channel.balance - channel.totalClaimed;
    }

    function _isReceiverSide(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.receiver || msg.sender == config.receiverAuthorizer;
    }

    function _isPayerSide(ChannelConfig calldata config) private view returns (bool) {
        return msg.sender == config.payer || msg.sender == config.payerAuthorizer;
    }

    function _digest(bytes32 structHash) private view returns (bytes32) {
        bytes32 separator = keccak256(
            abi.encode(
                DOMAIN_TYPEHASH, keccak256("x402 Batch Settlement"), keccak256("1"), block.chainid, address(this)
            )
        );
        return keccak256(abi.encodePacked("\x19\x01", separator, structHash));
    }

    /// @dev By the key of the signer, or by ERC-1271 where the signer is a contract.
    function _isSigned(address signer, bytes32 digest, bytes calldata signature) private view returns (bool) {
        if (signer.code.length == 0) {
            if (signature.length != 65 || uint256(bytes32(signature[32:64])) > HALF_ORDER) return false;
            address recovered = _ecrecover(digest, signature);
            return recovered != address(0) && recovered == signer;
        }
        (bool ok, bytes memory answer) =
            signer.staticcall(abi.encodeWithSignature("isValidSignature(bytes32,bytes)", digest, signature));
        return ok && answer.length >= 32 && abi.decode(answer, (bytes32)) == bytes32(bytes4(0x1626ba7e));
    }

    function _recover(bytes32 digest, bytes calldata signature) private pure returns (address recovered) {
        if (signature.length != 65) revert ECDSAInvalidSignatureLength(signature.length);
        bytes32 s = bytes32(signature[32:64]);
        if (uint256(s) > HALF_ORDER) revert ECDSAInvalidSignatureS(s);
        recovered = _ecrecover(digest, signature);
        if (recovered == address(0)) revert ECDSAInvalidSignature();
    }

    function _ecrecover(bytes32 digest, bytes calldata signature) private pure returns (address) {
        return ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
    }

    function _least(uint128 one, uint128 other) private pure returns (uint128) {
        return one < other ? one : other;
    }
}
